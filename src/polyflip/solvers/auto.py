"""The solver for those who do not choose: brute force where that is quickest, else the search."""

from __future__ import annotations

from polyflip.core import Extreme, Problem, Solution
from polyflip.core.space import Floats
from polyflip.solvers import Watch
from polyflip.solvers.oracle import OracleSolver
from polyflip.solvers.search import SearchSolver

__all__ = ["AutoSolver"]

FEW_VISITS = 500_000  # points times trees that brute force looks at in well under a second


class AutoSolver:
    """Looks at every combination of cells where they are few, else searches."""

    name = "auto"

    def __init__(self, search: SearchSolver | None = None) -> None:
        self._search = search or SearchSolver()
        self._oracle = OracleSolver()

    def watched_by(self, watch: Watch) -> AutoSolver:
        """The same solver, whose search is watched."""
        return AutoSolver(self._search.watched_by(watch))

    def within(self, gap: float) -> AutoSolver:
        """The same solver, whose search may leave a gap."""
        return AutoSolver(self._search.within(gap))

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:
        """The cheapest point, from whichever solver is quicker here."""
        return self._chosen(problem).cheapest(problem, time_limit)

    def extreme(
        self,
        problem: Problem,
        weights: Floats,
        time_limit: float | None = None,
        threshold: float | None = None,
    ) -> Extreme:
        """The highest score, from whichever solver is quicker here."""
        return self._chosen(problem).extreme(problem, weights, time_limit, threshold)

    def _chosen(self, problem: Problem) -> SearchSolver | OracleSolver:
        visits = problem.domain.count * max(1, problem.ensemble.trees)
        return self._oracle if visits <= FEW_VISITS else self._search
