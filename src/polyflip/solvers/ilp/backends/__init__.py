"""Back-ends: general solvers of integer programs, behind one small contract.

Why this room exists: the paper's programs can be given to any solver.  A back-end takes a program as
it is and says what it found; whether a point really is one, and what an answer means, is decided
by whoever asked (:class:`~polyflip.solvers.ilp.IlpSolver`), the same for all of them.
"""

from __future__ import annotations

from typing import Protocol

from polyflip.solvers.ilp.program import Outcome, Program

__all__ = ["Backend", "backend_named"]


class Backend(Protocol):
    """What every general solver can be asked."""

    name: str

    def solve(self, program: Program, time_limit: float | None) -> Outcome:
        """The least objective, with the solver's own bound; Ctrl-C is a ``KeyboardInterrupt``."""


def backend_named(name: str) -> Backend:
    """A back-end by the name of its solver; ``ilp`` is HiGHS.

    >>> backend_named("ilp").name
    'HiGHS'
    """
    if name == "scip":
        from polyflip.solvers.ilp.backends.scip import ScipBackend

        return ScipBackend()
    if name == "gurobi":
        from polyflip.solvers.ilp.backends.gurobi import GurobiBackend

        return GurobiBackend()
    if name == "cpsat":
        from polyflip.solvers.ilp.backends.cpsat import CpSatBackend

        return CpSatBackend()
    from polyflip.solvers.ilp.backends.highs import HighsBackend

    return HighsBackend()
