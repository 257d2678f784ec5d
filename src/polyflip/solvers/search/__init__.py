"""The exact engine: a bound of the tight program, a search over boxes, and incumbents from the data.

Why this room exists: it answers the same two questions as the integer programs, on the same
problems, and proves the same optima, without a general solver and far sooner.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from polyflip.core import Cost, Extreme, Problem, Solution, Status
from polyflip.core.proof import Proof
from polyflip.core.requirement import roundoff
from polyflip.core.space import Floats, Ints
from polyflip.errors import SolverError
from polyflip.solvers import Watch
from polyflip.solvers.search.record import MOST_PRICES, Record
from polyflip.solvers.search.ties import tie_problem, ties_possible, unit_of

if TYPE_CHECKING:
    from polyflip.solvers.search.engine import Result

__all__ = ["SearchSolver"]

TIE_WORK = 5e6  # nodes times steps that the order among equals may take beyond the proof of the price
SMALL = 1e-2  # where a cost is less than this share of the dearest price, it becomes the measure
EQUAL = 1e-9  # points whose prices differ by no more than this share are equal


class SearchSolver:
    """Branch and bound over boxes of cells.

    ``gap`` ends a search as soon as nothing cheaper than ``(1 - gap) * cost`` can exist.  ``watch`` is
    called with the best cells so far, their cost and the bound, for every new point and as time goes on;
    the search stops where it returns true.
    """

    name = "search"

    def __init__(self, gap: float = 0.0, watch: Watch | None = None) -> None:
        self.gap, self.watch = gap, watch

    def watched_by(self, watch: Watch) -> SearchSolver:
        """The same solver with somebody to watch it."""
        return SearchSolver(self.gap, watch)

    def within(self, gap: float) -> SearchSolver:
        """The same solver with a gap that will do."""
        return SearchSolver(gap, self.watch)

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:
        """The cheapest point, then among equals the first in the order that the cost states."""
        started = perf_counter()
        if problem.domain.empty:
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, 0.0)
        scaled = _Scaled.of(problem)
        result = self._search(problem, scaled, time_limit)
        if result.cells is not None and result.finished and not result.stopped:
            cost = problem.cost.of(result.cells)
            if not scaled.fits(cost):
                left = None if time_limit is None else max(0.0, time_limit - (perf_counter() - started))
                scaled = _Scaled.of(problem, cost)
                result = self._search(replace(problem, hints=result.cells[None]), scaled, left)
        bound = scaled.bound(result.bound)
        seconds = perf_counter() - started
        if result.cells is None:
            status = Status.INFEASIBLE if result.finished else Status.UNKNOWN
            bound = np.inf if result.finished else bound
            return Solution(status, None, np.inf, bound, self.name, seconds, result.stopped)
        cells, cost = result.cells, problem.cost.of(result.cells)
        if not result.finished and bound < cost - problem.cost.room(cost):
            return Solution(Status.FEASIBLE, cells, cost, bound, self.name, seconds, result.stopped)
        if scaled.later and not result.stopped and ties_possible(problem, cost):
            left = None if time_limit is None else max(0.0, time_limit - seconds)
            cells, stopped = self._first_among_equals(problem, cells, left)
            cost = problem.cost.of(cells)
        else:
            stopped = result.stopped
        seconds = perf_counter() - started
        return Solution(Status.OPTIMAL, cells, cost, cost, self.name, seconds, stopped)

    def prove(self, problem: Problem, cost: float) -> Proof:
        """Why no point costs less (for an infinite cost: why there is no point at all, whatever the prices).

        The search is run for something cheaper, and written down.
        """
        if cost == np.inf:
            problem = replace(problem, cost=Cost.free(problem.space.sizes))
        if problem.domain.empty or cost <= 0.0:  # without a word: no box, or no price below nothing
            rows = len(problem.inequalities)
            return Record(np.ones(rows), np.zeros(rows, np.int64)).proof(1.0, cost == np.inf)
        scaled = _Scaled.of(problem, cost)
        beat = cost / scaled.unit
        beat = np.ceil(beat - 1e-6) - (1.0 - 1e-6) if scaled.whole else beat * (1.0 - EQUAL)
        result = self._search(problem, scaled, None, beat)
        if not result.finished:
            raise SolverError("the proof was interrupted; ask for it again")
        if result.cells is not None:
            raise SolverError(f"something costs {problem.cost.of(result.cells)}: less than {cost}")
        if result.record is None:
            raise SolverError(f"the proof is too large to be kept: over {MOST_PRICES:,} multipliers")
        return result.record.proof(scaled.unit, scaled.whole)

    def _search(
        self, problem: Problem, scaled: _Scaled, time_limit: float | None, beat: float | None = None
    ) -> Result:
        """Search for the cheapest point; with ``beat`` for one that costs less, on the record."""
        parts = _engine()

        proving, watch = beat is not None, None
        if self.watch is not None and not proving:

            def watch(cells: Ints | None, cost: float, bound: float) -> bool:
                assert self.watch is not None
                return self.watch(cells, cost * scaled.unit, scaled.bound(bound))

        step, room = float(scaled.whole), 0.0 if scaled.later or proving else EQUAL
        prices = parts.Prices(scaled.price, problem.cost.tie_break, step, room)
        limits = parts.Limits(seconds=time_limit, gap=self.gap, watch=watch)
        if beat is not None:
            limits = parts.Limits(beat=beat, first=True)
        hints = None if proving else problem.hints
        result: Result = parts.search(problem, prices, limits, hints, record=proving)
        return result

    def extreme(
        self,
        problem: Problem,
        weights: Floats,
        time_limit: float | None = None,
        threshold: float | None = None,
    ) -> Extreme:
        """The highest ``weights @ score`` over the domain; with a threshold, whether it is reached."""
        parts = _engine()

        if problem.domain.empty:
            return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, 0.0)
        started = perf_counter()
        base = float(problem.ensemble.base @ weights)
        nothing = Cost.free(problem.space.sizes)
        # sums in another order may differ in their last bits: what exceeds the threshold exceeds it clearly
        beat = np.inf if threshold is None else base - threshold - roundoff(problem.ensemble, weights)
        limits = parts.Limits(seconds=time_limit, beat=beat, first=threshold is not None)
        prices = parts.Prices(nothing.price, nothing.move)
        result = parts.search(problem, prices, limits, problem.hints, weights)
        if result.stopped:  # nobody watches: it was Ctrl-C
            raise KeyboardInterrupt
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

    def _first_among_equals(
        self, problem: Problem, cells: Ints, time_limit: float | None
    ) -> tuple[Ints, bool]:
        """Search again for the least change among points that are no dearer; true where that was stopped."""
        parts = _engine()

        equal = tie_problem(problem, problem.cost.of(cells))
        best = problem.cost.rank(cells)
        proved = problem.cost.of(cells)

        def watch(_cells: Ints | None, _cost: float, _bound: float) -> bool:
            return self.watch is not None and self.watch(cells, proved, proved)

        told = None if self.watch is None else watch
        limits = parts.Limits(seconds=time_limit, beat=best[1], work=TIE_WORK, watch=told)
        prices = parts.Prices(equal.cost.price, equal.cost.move)
        result = parts.search(equal, prices, limits, cells[None])
        other = result.cells
        if other is not None and problem.meets(other) and problem.cost.better(problem.cost.rank(other), best):
            return other, result.stopped
        return cells, result.stopped


def _engine() -> ModuleType:
    """The engine's module, imported when first asked; a line says so where kernels are to be compiled."""
    from polyflip.solvers.search import bound, engine

    if not getattr(bound.ascend, "signatures", True) and not _cached(bound.ascend):
        sys.stderr.write("polyflip: compiling the search for this machine, once (about half a minute)\n")
    return engine


def _cached(kernel: Any) -> bool:
    """Whether numba holds a kernel in its cache; where it does not say, that it does."""
    try:
        return bool(kernel._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return True


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Prices as the engine takes them: whole numbers where they are counts, else of the size of one.

    The engine counts as equal what differs by less than a share of one.  Where a cost is known that is
    much less than some prices, it is the measure, and what costs far more need not be told apart.
    ``later`` says that equals are too many to be met one by one, and are searched on their own.
    """

    price: tuple[Floats, ...]
    unit: float
    whole: bool
    later: bool

    @classmethod
    def of(cls, problem: Problem, cost: float = np.inf) -> _Scaled:
        """The prices of a problem, counted in units where they are counts."""
        unit = unit_of(problem)
        if unit is not None:
            return cls(tuple(np.rint(price / unit) for price in problem.cost.price), unit, True, True)
        pairs = zip(problem.cost.price, problem.domain.allowed, strict=True)
        left = [price[allowed] for price, allowed in pairs]
        size = max(float(price.max()) for price in left) or 1.0
        if 0.0 < cost < SMALL * size:
            size = cost
        free = any(np.count_nonzero(price <= EQUAL * size) > 1 for price in left)
        prices = tuple(np.minimum(price / size, 1.0 / SMALL) for price in problem.cost.price)
        return cls(prices, size, False, free)

    def fits(self, cost: float) -> bool:
        """Whether the measure is right for points of this cost."""
        return self.whole or not 0.0 < cost < SMALL * self.unit

    def bound(self, bound: float) -> float:
        """A bound of the engine's in the user's prices."""
        if self.whole and np.isfinite(bound):
            bound = np.ceil(bound - 1e-7)
        return max(0.0, float(bound * self.unit))
