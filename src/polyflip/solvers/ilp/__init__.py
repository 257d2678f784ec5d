"""Problems as integer programs: the paper's encoding, the tight one, and HiGHS behind both.

Why this room exists: the paper's programs stay available as written, to be read, exported and
solved; they are also the second opinion on every other engine.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from polyflip.core import Cost, Extreme, Problem, Solution, Status
from polyflip.core.ensemble import runs_of
from polyflip.core.space import Floats, Ints
from polyflip.errors import InputError, SolverError
from polyflip.solvers.ilp import paper, tight
from polyflip.solvers.ilp.grid import Grid
from polyflip.solvers.ilp.program import Expression, Outcome, Program

__all__ = ["IlpSolver", "Program", "encode"]

TOLERANCE = 1e-6  # what a general solver's optimum is good for
MOST_LOOPHOLES = 500


def encode(problem: Problem, encoding: str = "tight") -> tuple[Program, Grid]:
    """The program of a problem in one of the two encodings."""
    if encoding == "paper":
        return paper.encode(problem)
    if encoding == "tight":
        return tight.encode(problem)
    raise InputError(f"encoding={encoding!r} is not known; choose 'tight' or 'paper'")


class IlpSolver:
    """HiGHS on one of the two encodings.

    HiGHS accepts errors of about 1e-9 to 1e-6, and on forests it uses them.  So every point it
    returns is checked on the ensemble itself; one that slipped through a tolerance is forbidden by
    a row of its own, and the program is solved again.
    """

    def __init__(self, encoding: str = "tight") -> None:
        if encoding not in ("tight", "paper"):
            raise InputError(f"encoding={encoding!r} is not known; choose 'tight' or 'paper'")
        self.encoding = encoding
        self.name = f"ilp ({encoding})"

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:
        """The cheapest point, then among equals the first in the order that the cost states."""
        clock = _Clock(time_limit)
        if problem.domain.empty:
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, clock.elapsed)
        program, grid = encode(problem, self.encoding)
        price = program.objective
        first, cells = _solve(problem, program, grid, clock)
        if first.status == "infeasible":
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, clock.elapsed)
        if cells is None:
            bound = max(0.0, first.bound)
            return Solution(Status.UNKNOWN, None, np.inf, bound, self.name, clock.elapsed)
        cost = problem.cost.of(cells)
        bound = min(cost, first.bound)
        proved = first.status == "optimal" and cost - bound <= TOLERANCE * max(1.0, cost)
        if proved:
            cells = self._first_among_equals(problem, program, grid, cells, price, clock)
            cost = bound = problem.cost.of(cells)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        return Solution(status, cells, cost, max(0.0, bound), self.name, clock.elapsed)

    def extreme(self, problem: Problem, weights: Floats, time_limit: float | None = None) -> Extreme:
        """The highest ``weights @ score`` over the domain, on the tight encoding."""
        clock = _Clock(time_limit)
        if problem.domain.empty:
            return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, clock.elapsed)
        program, grid = tight.score(problem, weights)
        base = float(problem.ensemble.base @ weights)
        while True:
            outcome = program.solve(clock.left)
            if outcome.status == "infeasible":
                return Extreme(Status.INFEASIBLE, None, -np.inf, -np.inf, self.name, clock.elapsed)
            if outcome.values is None:
                return Extreme(Status.UNKNOWN, None, -np.inf, base - outcome.bound, self.name, clock.elapsed)
            cells = grid.read(outcome.values)
            if bool(problem.ensemble.admits(cells[None])[0]):
                break
            _forbid(problem, program, grid, cells)
        value = float((problem.ensemble.scores(cells[None]) @ weights)[0])
        bound = max(value, base - outcome.bound)
        proved = outcome.status == "optimal" and bound - value <= TOLERANCE * max(1.0, abs(value))
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        return Extreme(status, cells, value, bound, self.name, clock.elapsed)

    def _first_among_equals(
        self, problem: Problem, program: Program, grid: Grid, cells: Ints, price: Expression, clock: _Clock
    ) -> Ints:
        """Among points of the same price, the one that changes fewest features, then moves least."""
        best = problem.cost.rank(cells)
        second = grid.price(problem.cost.tie_break)
        if best[1] == 0.0 or not second.terms:
            return cells
        program.row("no dearer", "price", price, upper=best[0] + Cost.room(best[0]))
        program.minimise(second)
        _, other = _solve(problem, program, grid, clock)
        if other is not None and problem.cost.better(problem.cost.rank(other), best):
            return other
        return cells


class _Clock:
    """What is left of a time limit."""

    def __init__(self, limit: float | None) -> None:
        self.started = perf_counter()
        self.limit = limit

    @property
    def elapsed(self) -> float:
        return perf_counter() - self.started

    @property
    def left(self) -> float | None:
        return None if self.limit is None else self.limit - self.elapsed


def _solve(problem: Problem, program: Program, grid: Grid, clock: _Clock) -> tuple[Outcome, Ints | None]:
    """Solve until the point that comes back is one; what slips through a tolerance is forbidden."""
    for _ in range(MOST_LOOPHOLES):
        outcome = program.solve(clock.left)
        if outcome.values is None:
            return outcome, None
        cells = grid.read(outcome.values)
        if problem.meets(cells):
            return outcome, cells
        _forbid(problem, program, grid, cells)
    raise SolverError(
        f"HiGHS returned {MOST_LOOPHOLES} points that meet the program only within its tolerance; "
        "use another solver"
    )


def _forbid(problem: Problem, program: Program, grid: Grid, cells: Ints) -> None:
    """A row that forbids every point which reaches the same leaves as this one."""
    parts = []
    for feature, mask in enumerate(problem.ensemble.box_of(problem.space, cells)):
        if not mask.all():
            parts.append(grid.inside(feature, runs_of(mask)))
    number = program.count("forbidden") + 1
    program.row(f"forbidden point {number}", "forbidden", Expression.total(parts), upper=len(parts) - 1)
