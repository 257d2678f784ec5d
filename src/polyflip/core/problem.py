"""Problem and solution: what is asked of a solver, and what it must be able to say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from polyflip.core.cost import Cost
from polyflip.core.ensemble import Ensemble
from polyflip.core.requirement import Inequality, Requirement
from polyflip.core.space import Domain, Ints, Space

__all__ = ["Extreme", "Problem", "Solution", "Status"]


class Status(StrEnum):
    """What is known of an answer.

    ``optimal``: proved, nothing cheaper exists.  ``feasible``: valid, and its gap is stated.
    ``infeasible``: proved, there is none.  ``unknown``: stopped before anything was found.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Problem:
    """The cheapest point of a space that meets a requirement on an ensemble, within a domain.

    ``hints`` are points (cells, a row each) that a solver may start from, such as the training data.
    """

    space: Space
    ensemble: Ensemble
    requirement: Requirement
    cost: Cost
    domain: Domain
    hints: Ints | None = None

    @cached_property
    def inequalities(self) -> list[Inequality]:
        """The requirement on the leaves, scaled and rounded."""
        return self.requirement.inequalities(self.ensemble)

    def meets(self, cells: Ints) -> bool:
        """Whether a point lies in the domain, exists, and meets the requirement."""
        if not all(mask[cell] for mask, cell in zip(self.domain.allowed, cells, strict=True)):
            return False
        reached = self.ensemble.reached(np.asarray(cells)[None])
        if self.ensemble.forbidden[reached].any():
            return False
        return all(bool(row.met(reached)[0]) for row in self.inequalities)

    def without(self, boxes: list[dict[int, np.ndarray[tuple[int], np.dtype[np.bool_]]]]) -> Problem:
        """The same problem with boxes struck out of the space (penalty trees)."""
        return replace(self, ensemble=self.ensemble.forbidding(boxes))


@dataclass(frozen=True, eq=False)
class Solution:
    """A solver's answer to "what is cheapest": a point, what it costs, and what is proved of it.

    ``stopped`` says that the user interrupted.
    """

    status: Status
    cells: Ints | None
    cost: float
    bound: float
    solver: str = ""
    seconds: float = 0.0
    stopped: bool = False

    @property
    def gap(self) -> float:
        """How much cheaper a better answer could be, as a share of the cost.

        >>> Solution(Status.FEASIBLE, None, 4.0, 3.0).gap
        0.25
        """
        if self.cost == self.bound:
            return 0.0
        return (self.cost - self.bound) / self.cost if np.isfinite(self.cost) else np.inf


@dataclass(frozen=True, eq=False)
class Extreme:
    """A solver's answer to "how high can the score get": a point, its value, and a proven bound.

    ``value <= true maximum <= bound``; both are minus infinity where the domain holds no point.
    """

    status: Status
    cells: Ints | None
    value: float
    bound: float
    solver: str = ""
    seconds: float = 0.0
