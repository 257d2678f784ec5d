"""Brute force over all cells: the truth for tests and for tiny models."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from polyflip.core import Extreme, Problem, Solution, Status
from polyflip.core.space import Floats, Ints
from polyflip.errors import TooLargeError

__all__ = ["OracleSolver"]

CHUNK = 20_000


class OracleSolver:
    """Looks at every combination of cells; refuses when there are more than ``limit``."""

    name = "oracle"

    def __init__(self, limit: int = 2_000_000) -> None:
        self.limit = limit

    def cheapest(self, problem: Problem, time_limit: float | None = None) -> Solution:  # noqa: ARG002
        """The cheapest point; ties as :class:`~polyflip.core.Cost` orders them, then cell by cell.

        ``time_limit`` is accepted for the contract's sake: ``limit`` is what bounds the work.
        """
        started = perf_counter()
        best: Ints | None = None
        rank = (np.inf, np.inf)
        for cells in self._points(problem):
            reached = problem.ensemble.reached(cells)
            valid = ~problem.ensemble.forbidden[reached].any(axis=1)
            for row in problem.inequalities:
                valid &= row.met(reached)
            for point in self._candidates(problem, cells[valid]):
                found = problem.cost.rank(point)
                if best is None or problem.cost.better(found, rank):
                    best, rank = point, found
        seconds = perf_counter() - started
        if best is None:
            return Solution(Status.INFEASIBLE, None, np.inf, np.inf, self.name, seconds)
        return Solution(Status.OPTIMAL, best, rank[0], rank[0], self.name, seconds)

    def extreme(
        self,
        problem: Problem,
        weights: Floats,
        time_limit: float | None = None,  # noqa: ARG002
        threshold: float | None = None,  # noqa: ARG002
    ) -> Extreme:
        """The highest ``weights @ score`` over the domain."""
        started = perf_counter()
        best: Ints | None = None
        value = -np.inf
        for cells in self._points(problem):
            reached = problem.ensemble.reached(cells)
            exists = ~problem.ensemble.forbidden[reached].any(axis=1)
            if not exists.any():
                continue
            scores = problem.ensemble.scores(cells[exists]) @ weights
            top = int(np.argmax(scores))
            if scores[top] > value:
                best, value = cells[exists][top], float(scores[top])
        status = Status.INFEASIBLE if best is None else Status.OPTIMAL
        return Extreme(status, best, value, value, self.name, perf_counter() - started)

    @staticmethod
    def _candidates(problem: Problem, cells: Ints) -> Ints:
        """The points of a chunk that may be the best: those within reach of its lowest price."""
        if not len(cells):
            return cells
        price = np.zeros(len(cells))
        for feature, prices in enumerate(problem.cost.price):
            price += prices[cells[:, feature]]
        near: Ints = cells[price <= price.min() + 4 * problem.cost.room(float(price.min()))]
        return near

    def _points(self, problem: Problem) -> Iterator[Ints]:
        count = problem.domain.count
        if count > self.limit:
            raise TooLargeError(
                f"the oracle would look at {count:,} combinations of cells; its limit is {self.limit:,} "
                "(use solver='ilp', or OracleSolver(limit=...))"
            )
        options = [np.flatnonzero(mask) for mask in problem.domain.allowed]
        sizes = tuple(len(each) for each in options)
        for start in range(0, count, CHUNK):
            index = np.unravel_index(np.arange(start, min(start + CHUNK, count)), sizes)
            yield np.stack([each[i] for each, i in zip(options, index, strict=True)], axis=1)
