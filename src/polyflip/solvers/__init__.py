"""Solvers: who answers a problem.

Why this room exists: a question is asked once (a :class:`~polyflip.core.Problem`) and may be
answered by any engine.  The contract is two questions, ``cheapest`` and ``extreme``; everything a
solver needs is in the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from polyflip.core import Extreme, Problem, Solution
from polyflip.core.space import Floats, Ints
from polyflip.errors import InputError

__all__ = ["Guided", "Solver", "Watch", "solver_named"]

PROGRAMS = ("ilp", "scip", "cpsat", "gurobi")  # solvers of integer programs


class Solver(Protocol):
    """What every engine can be asked."""

    name: str

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:
        """The cheapest point that meets the requirement, with a proven lower bound."""

    def extreme(
        self,
        problem: Problem,
        weights: Floats,
        time_limit: float | None = None,
        threshold: float | None = None,
    ) -> Extreme:
        """The highest ``weights @ score`` over the domain, whatever the requirement and the cost.

        With a ``threshold`` the solver may stop as soon as it knows whether any point exceeds it: its
        point then does, or its bound is at most the threshold.
        """


Watch = Callable[[Ints | None, float, float], bool]


@runtime_checkable
class Guided(Solver, Protocol):
    """An engine that can be watched, and told how good an answer must be."""

    def watched_by(self, watch: Watch) -> Guided:
        """The same solver, which tells its best cells, their cost and its bound; it stops on true."""

    def within(self, gap: float) -> Guided:
        """The same solver, which ends as soon as nothing cheaper than ``(1 - gap) * cost`` can exist."""


def solver_named(name: str | Solver, encoding: str | None = None) -> Solver:
    """A solver by name; a solver itself is returned.

    ``auto`` chooses; ``search`` is the exact engine, ``oracle`` brute force.  ``ilp`` is the integer program
    solved by HiGHS, ``scip``, ``cpsat`` and ``gurobi`` the same program solved by others (extras).  An
    encoding asks for the integer program: it goes with these, and decides ``auto`` for ``ilp``.
    """
    if encoding is not None:
        name = _encoded(name, encoding)
    if not isinstance(name, str):
        if not (hasattr(name, "cheapest") and hasattr(name, "extreme")):
            raise InputError(f"solver={name!r}: give a name, or a solver with cheapest() and extreme()")
        return name
    if name == "auto":
        from polyflip.solvers.auto import AutoSolver

        return AutoSolver()
    if name == "search":
        from polyflip.solvers.search import SearchSolver

        return SearchSolver()
    if name in PROGRAMS:
        from polyflip.solvers.ilp import IlpSolver
        from polyflip.solvers.ilp.backends import backend_named

        return IlpSolver(encoding or "tight", None if name == "ilp" else backend_named(name))
    if name == "oracle":
        from polyflip.solvers.oracle import OracleSolver

        return OracleSolver()
    known = ", ".join(repr(each) for each in ("auto", "search", "oracle", *PROGRAMS))
    raise InputError(f"solver={name!r} is not known; choose one of {known}")


def _encoded(name: str | Solver, encoding: str) -> str | Solver:
    """The solver to which an encoding belongs; any other would take no notice of it."""
    from polyflip.solvers.ilp import check_encoding

    check_encoding(encoding)
    if isinstance(name, str) and name not in ("search", "oracle"):
        return "ilp" if name == "auto" else name
    shown = repr(name) if isinstance(name, str) else type(name).__name__
    raise InputError(
        f"encoding={encoding!r} is of solver='ilp'; {shown} has no encodings: leave one of the two out"
    )
