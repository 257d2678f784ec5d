"""Problems as integer programs: the paper's encoding, the tight one, and general solvers behind both.

Why this room exists: the paper's programs stay available as written, to be read, exported and
solved; they are also the second opinion on every other engine.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from polyflip.core import Extreme, Problem, Solution, Status
from polyflip.core.ensemble import runs_of
from polyflip.core.space import Floats, Ints
from polyflip.errors import InputError, SolverError
from polyflip.solvers.ilp import paper, tight
from polyflip.solvers.ilp.backends import Backend, backend_named
from polyflip.solvers.ilp.grid import Grid
from polyflip.solvers.ilp.program import Expression, Outcome, Program

__all__ = ["IlpSolver", "Program", "encode"]

TOLERANCE = 1e-6  # what a general solver's optimum is good for
MOST_LOOPHOLES = 500
WIDEST = 1e3  # how far prices may lie above the cost for HiGHS's absolute tolerances to be harmless


def encode(problem: Problem, encoding: str = "tight") -> tuple[Program, Grid]:
    """The program of a problem in one of the two encodings."""
    if encoding == "paper":
        return paper.encode(problem)
    if encoding == "tight":
        return tight.encode(problem)
    raise _unknown(encoding)


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that is not known."""
    if encoding not in ("tight", "paper"):
        raise _unknown(encoding)


def _unknown(encoding: str) -> InputError:
    return InputError(f"encoding={encoding!r} is not known; choose 'tight' or 'paper'")


class IlpSolver:
    """A general solver (HiGHS where no other back-end is given) on one of the two encodings.

    General solvers accept errors of about 1e-9 to 1e-6, and on forests they use them.  So every point
    they return is checked on the ensemble itself; one that slipped through a tolerance is forbidden by
    a row of its own, and the program is solved again.
    """

    def __init__(self, encoding: str = "tight", backend: Backend | None = None) -> None:
        check_encoding(encoding)
        self.encoding, self.backend = encoding, backend or backend_named("ilp")
        self.name = f"{'ilp' if backend is None else backend.name} ({encoding})"

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:
        """The cheapest point, then among equals the first in the order that the cost states."""
        clock = _Clock(time_limit)
        if problem.domain.empty:
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, clock.elapsed)
        while True:
            solution, cells = self._cheapest(problem, clock)
            wide = solution.cost > 0.0 and _dearest(problem) > WIDEST * solution.cost
            if cells is None or not wide or clock.over:
                break
            # tolerances are absolute: without what alone is dearer than this point, prices are alike
            problem = _without_dearer(problem, solution.cost)
        if cells is None or solution.status is not Status.OPTIMAL:
            return solution
        cells = self._first_among_equals(problem, cells, clock)
        cost = problem.cost.of(cells)
        return Solution(Status.OPTIMAL, cells, cost, cost, self.name, clock.elapsed)

    def _cheapest(self, problem: Problem, clock: _Clock) -> tuple[Solution, Ints | None]:
        """The cheapest point by its price alone."""
        program, grid, unit = self._priced(problem)
        outcome, cells = self._solve(problem, program, grid, clock)
        if outcome.status == "infeasible":
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, clock.elapsed), None
        bound = max(0.0, outcome.bound * unit)
        if cells is None:
            return Solution(Status.UNKNOWN, None, np.inf, bound, self.name, clock.elapsed), None
        cost = problem.cost.of(cells)
        proved = outcome.status == "optimal" and cost - bound <= TOLERANCE * max(cost, unit)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        return Solution(status, cells, cost, min(cost, bound), self.name, clock.elapsed), cells

    def _priced(self, problem: Problem) -> tuple[Program, Grid, float]:
        """The program with prices in units of the dearest cell."""
        program, grid = encode(problem, self.encoding)
        unit = _dearest(problem) or 1.0
        program.minimise(program.objective.over(unit))
        return program, grid, unit

    def extreme(
        self,
        problem: Problem,
        weights: Floats,
        time_limit: float | None = None,
        threshold: float | None = None,  # noqa: ARG002
    ) -> Extreme:
        """The highest ``weights @ score`` over the domain, on the tight encoding."""
        clock = _Clock(time_limit)
        if problem.domain.empty:
            return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, clock.elapsed)
        program, grid = tight.score(problem, weights)
        base = float(problem.ensemble.base @ weights)
        for _ in range(MOST_LOOPHOLES):
            outcome = program.solve(clock.left, backend=self.backend)
            if outcome.status == "infeasible":
                return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, clock.elapsed)
            if outcome.values is None:
                return Extreme(Status.UNKNOWN, None, -np.inf, base - outcome.bound, self.name, clock.elapsed)
            cells = grid.read(outcome.values)
            if bool(problem.ensemble.admits(cells[None])[0]):
                break
            _forbid(problem, program, grid, cells)
        else:
            raise _loopholes(self.backend)
        value = float((problem.ensemble.scores(cells[None]) @ weights)[0])
        bound = max(value, base - outcome.bound)
        proved = outcome.status == "optimal" and bound - value <= TOLERANCE * max(1.0, abs(value))
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        return Extreme(status, cells, value, bound, self.name, clock.elapsed)

    def _solve(
        self, problem: Problem, program: Program, grid: Grid, clock: _Clock
    ) -> tuple[Outcome, Ints | None]:
        """Solve until the point that comes back is one; what slips through a tolerance is forbidden."""
        for _ in range(MOST_LOOPHOLES):
            outcome = program.solve(clock.left, backend=self.backend)
            if outcome.values is None:
                return outcome, None
            cells = grid.read(outcome.values)
            if problem.meets(cells):
                return outcome, cells
            _forbid(problem, program, grid, cells)
        raise _loopholes(self.backend)

    def _first_among_equals(self, problem: Problem, cells: Ints, clock: _Clock) -> Ints:
        """Among points of the same price, the one that changes fewest features, then moves least."""
        best = problem.cost.rank(cells)
        if best[1] == 0.0:
            return cells
        program, grid, unit = self._priced(problem)
        room = problem.cost.room(best[0])
        program.row("no dearer", "price", program.objective, upper=(best[0] + room) / unit)
        program.minimise(grid.price(problem.cost.tie_break))
        _, other = self._solve(problem, program, grid, clock)
        if other is not None and problem.cost.better(problem.cost.rank(other), best):
            return other
        return cells


def _dearest(problem: Problem) -> float:
    """The highest price of any cell that is left."""
    cells = zip(problem.cost.price, problem.domain.allowed, strict=True)
    return max(float(price[allowed].max()) for price, allowed in cells)


def _without_dearer(problem: Problem, cost: float) -> Problem:
    """The problem without the cells that alone cost more than a point that is known."""
    domain, prices = problem.domain, []
    for feature, price in enumerate(problem.cost.price):
        near = price <= cost + problem.cost.room(cost)
        domain = domain.keep(feature, near)
        prices.append(np.where(near, price, 0.0))
    return replace(problem, domain=domain, cost=replace(problem.cost, price=tuple(prices)))


class _Clock:
    """What is left of a time limit."""

    def __init__(self, limit: float | None) -> None:
        self.started = perf_counter()
        self.limit = limit

    @property
    def elapsed(self) -> float:
        return perf_counter() - self.started

    @property
    def over(self) -> bool:
        return self.limit is not None and self.elapsed >= self.limit

    @property
    def left(self) -> float | None:
        return None if self.limit is None else self.limit - self.elapsed


def _loopholes(backend: Backend) -> SolverError:
    return SolverError(
        f"{backend.name} returned {MOST_LOOPHOLES} points that meet the program only within its tolerance; "
        "use another solver"
    )


def _forbid(problem: Problem, program: Program, grid: Grid, cells: Ints) -> None:
    """A row that forbids every point which reaches the same leaves as this one."""
    box = problem.ensemble.leaf_box(problem.space, cells)
    parts = [grid.inside(feature, runs_of(mask)) for feature, mask in box.items()]
    number = program.count("forbidden") + 1
    program.row(f"forbidden point {number}", "forbidden", Expression.total(parts), upper=len(parts) - 1)
