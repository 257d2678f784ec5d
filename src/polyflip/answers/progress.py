"""Progress: what a running search knows, in the user's words, told to whoever asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from polyflip.answers.case import Case
from polyflip.core import Domain, Solution
from polyflip.core.space import Ints
from polyflip.errors import InputError
from polyflip.solvers import Guided, Solver

__all__ = ["Callback", "Incumbent", "Progress"]


@dataclass(frozen=True, eq=False)
class Incumbent:
    """The best point so far; the model itself decides it for ``target``."""

    point: dict[str, object]
    cost: float
    target: object


Callback = Callable[[Incumbent | None, float, float], object]


class Progress:
    """Follows the searches of one question, a class after the other.

    The callback is told the incumbent (None at first), a bound that nothing undercuts, and the seconds
    since the start; where it returns something true the search stops, as it does on Ctrl-C.
    """

    def __init__(self, case: Case, domain: Domain, classes: int, callback: Callback) -> None:
        self.case, self.domain, self.callback = case, domain, callback
        self.started = perf_counter()
        self.left, self.bounds = classes, [np.inf]
        self.incumbent: Incumbent | None = None
        self.seen: bytes | None = None
        self.halted = False

    def following(self, solver: Solver, target: int) -> Solver:
        """The solver, watched while it seeks a point of one class."""
        if not isinstance(solver, Guided):
            raise InputError(f"callback= goes with solver='search' or 'auto', not {solver.name!r}")

        def watch(cells: Ints | None, cost: float, bound: float) -> bool:
            if cells is not None:
                self._take(cells, cost, target)
            return self._told([*self.bounds, max(0.0, bound), *[0.0] * (self.left - 1)])

        return solver.watched_by(watch)

    def passed(self, solution: Solution, target: int) -> None:
        """One class is done with; what it ended with is told, if it was not."""
        self.left -= 1
        self.bounds.append(solution.bound)
        if solution.cells is not None and self._take(solution.cells, solution.cost, target):
            self._told([*self.bounds, *[0.0] * self.left])

    def _told(self, bounds: list[float]) -> bool:
        """Tell the callback; true where it wants the search to stop. Then it is told nothing more."""
        bound = min(bounds)
        if self.incumbent is not None:
            bound = min(bound, self.incumbent.cost)
        if not self.halted:
            self.halted = bool(self.callback(self.incumbent, bound, perf_counter() - self.started))
        return self.halted

    def _take(self, cells: Ints, cost: float, target: int) -> bool:
        """Show a point only if it is better, and if the model itself says so; true where it is."""
        if cells.tobytes() == self.seen or (self.incumbent is not None and cost >= self.incumbent.cost):
            return False
        self.seen = cells.tobytes()
        columns = self.case.columns_at(self.case.values_at(cells, self.domain))
        if not self.case.wins(columns, target):
            return False
        self.incumbent = Incumbent(columns, cost, self.case.subject.reading.classes[target])
        return True
