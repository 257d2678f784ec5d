"""The four words of polyflip: space, ensemble, requirement and cost, and the problem they make.

Why this room exists: every question the package answers is "find the cheapest point of a space
that meets a requirement on an ensemble, at a given cost".  Readers produce these values, answers
combine them, solvers take them; none of them knows where the others come from.  Only numpy is
imported here.
"""

from polyflip.core.cost import Cost
from polyflip.core.ensemble import Ensemble, Rules
from polyflip.core.problem import Extreme, Problem, Solution, Status
from polyflip.core.proof import Proof
from polyflip.core.requirement import Inequality, Requirement
from polyflip.core.space import Axis, Domain, Kind, Point, Space

__all__ = [
    "Axis",
    "Cost",
    "Domain",
    "Ensemble",
    "Extreme",
    "Inequality",
    "Kind",
    "Point",
    "Problem",
    "Proof",
    "Requirement",
    "Rules",
    "Solution",
    "Space",
    "Status",
]
