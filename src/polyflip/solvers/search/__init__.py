"""The exact engine: a bound of the tight program, a search over boxes, and incumbents from the data.

Why this room exists: it answers the same two questions as the integer programs, on the same
problems, and proves the same optima, without a general solver and far sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from polyflip.core import Cost, Extreme, Problem, Solution, Status
from polyflip.core.requirement import roundoff
from polyflip.core.space import Floats, Ints
from polyflip.solvers.search.ties import tie_problem, ties_possible, unit_of

__all__ = ["SearchSolver"]

TIE_BOXES = 200  # boxes beyond the proof of the price that the order among equals may take


class SearchSolver:
    """Branch and bound over boxes of cells."""

    name = "search"

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:
        """The cheapest point, then among equals the first in the order that the cost states."""
        started = perf_counter()
        if problem.domain.empty:
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, 0.0)
        priced = _Priced.of(problem)
        cells, bound, finished = priced.search(problem, time_limit)
        seconds = perf_counter() - started
        if cells is None:
            status = Status.INFEASIBLE if finished else Status.UNKNOWN
            return Solution(status, None, np.inf, np.inf if finished else bound, self.name, seconds)
        cost = problem.cost.of(cells)
        if not finished and bound < cost - problem.cost.room(cost):
            return Solution(Status.FEASIBLE, cells, cost, bound, self.name, seconds)
        if ties_possible(problem, cost):
            left = None if time_limit is None else max(0.0, time_limit - seconds)
            cells = self._first_among_equals(problem, cells, left)
            cost = problem.cost.of(cells)
        return Solution(Status.OPTIMAL, cells, cost, cost, self.name, perf_counter() - started)

    def extreme(
        self,
        problem: Problem,
        weights: Floats,
        time_limit: float | None = None,
        threshold: float | None = None,
    ) -> Extreme:
        """The highest ``weights @ score`` over the domain; with a threshold, whether it is reached."""
        from polyflip.solvers.search.engine import Engine
        from polyflip.solvers.search.instance import leaves_of

        if problem.domain.empty:
            return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, 0.0)
        started = perf_counter()
        base = float(problem.ensemble.base @ weights)
        nothing = Cost.free(problem.space.sizes)
        # sums in another order may differ in their last bits: what exceeds the threshold exceeds it clearly
        beat = np.inf if threshold is None else base - threshold - roundoff(problem.ensemble, weights)
        engine = Engine(
            problem,
            leaves_of(problem, weights),
            nothing.price,
            nothing.move,
            beat=beat,
            first=threshold is not None,
            time_limit=time_limit,
        )
        result = engine.run(problem.hints)
        seconds = perf_counter() - started
        if result.cells is None:
            if not result.finished:
                return Extreme(Status.UNKNOWN, None, -np.inf, base - result.bound, self.name, seconds)
            if threshold is None:
                return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, seconds)
            return Extreme(Status.OPTIMAL, None, -np.inf, threshold, self.name, seconds)
        value = float((problem.ensemble.scores(result.cells[None]) @ weights)[0])
        bound = value if result.finished and threshold is None else max(value, base - result.bound)
        status = Status.OPTIMAL if result.finished and threshold is None else Status.FEASIBLE
        return Extreme(status, result.cells, value, bound, self.name, seconds)

    def _first_among_equals(self, problem: Problem, cells: Ints, time_limit: float | None) -> Ints:
        """Search again for the least change among points that are no dearer."""
        from polyflip.solvers.search.engine import Engine
        from polyflip.solvers.search.instance import leaves_of

        equal = tie_problem(problem, problem.cost.of(cells))
        best = problem.cost.rank(cells)
        engine = Engine(
            equal,
            leaves_of(equal),
            equal.cost.price,
            equal.cost.move,
            beat=best[1],
            time_limit=time_limit,
            most_boxes=TIE_BOXES,
        )
        other = engine.run(cells[None]).cells
        if other is not None and problem.meets(other) and problem.cost.better(problem.cost.rank(other), best):
            return other
        return cells


@dataclass(frozen=True, eq=False)
class _Priced:
    """Prices as the engine takes them, of the size of one; ``whole`` where all are whole numbers."""

    price: tuple[Floats, ...]
    size: float
    whole: bool

    @classmethod
    def of(cls, problem: Problem) -> _Priced:
        """The prices of a problem, counted in units where they are counts."""
        unit = unit_of(problem)
        if unit is not None:
            return cls(tuple(np.rint(price / unit) for price in problem.cost.price), unit, True)
        cells = zip(problem.cost.price, problem.domain.allowed, strict=True)
        size = max(float(price[allowed].max()) for price, allowed in cells) or 1.0
        return cls(tuple(price / size for price in problem.cost.price), size, False)

    def search(self, problem: Problem, time_limit: float | None) -> tuple[Ints | None, float, bool]:
        """The cheapest cells, a bound on the price, and whether the search came to its end."""
        from polyflip.solvers.search.engine import Engine
        from polyflip.solvers.search.instance import leaves_of

        engine = Engine(
            problem,
            leaves_of(problem),
            self.price,
            problem.cost.tie_break,
            step=float(self.whole),
            time_limit=time_limit,
        )
        result = engine.run(problem.hints)
        bound = max(0.0, result.bound)
        if self.whole and np.isfinite(bound):
            bound = np.ceil(bound - 1e-7)
        return result.cells, float(bound * self.size), result.finished
