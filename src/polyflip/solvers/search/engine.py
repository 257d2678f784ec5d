"""The branch and bound: boxes, best first, each closed by its bound."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from polyflip.core import Problem
from polyflip.core.space import Bools, Floats, Ints
from polyflip.solvers.search.bound import ascend
from polyflip.solvers.search.branch import candidates
from polyflip.solvers.search.incumbent import improve, worth
from polyflip.solvers.search.instance import Instance, Leaves, root_of, shrink

__all__ = ["Engine", "Result"]

ROOT_STEPS = 500
STEPS = 40
TRIAL_STEPS = 8
TRIALS = 8
SEEDS = 6
Halves = npt.NDArray[np.float32]  # multipliers at rest, in half the space
CLOSE = 1e-10  # a bound this near (relatively) to the cost to beat has reached it


@dataclass(frozen=True, eq=False)
class Result:
    """What a search knows at its end: the best point, its cost, and a bound on all others."""

    cells: Ints | None
    cost: float
    bound: float
    boxes: int
    finished: bool


@dataclass(frozen=True, eq=False)
class _Box:
    """A box that is still open: its groups of the root, its bound, and multipliers to start from."""

    kept: Bools
    bound: float
    nodes: Ints
    a: Halves
    b: Halves
    lam: Floats


class _Work:
    """A box being worked on: its instance, its multipliers, and what the last climb found.

    ``into`` says into which group each group of the root went (-1: struck out).
    """

    def __init__(self, inst: Instance, into: Ints, lam: Floats, bound: float = -np.inf) -> None:
        self.inst, self.into, self.bound = inst, into, bound
        self.here = bound
        self.a, self.b = np.zeros(len(inst.rule)), np.zeros(len(inst.rule))
        self.lam = lam.copy()
        self.mean, self.value = np.zeros(len(inst.price)), np.zeros(len(inst.price))

    def warm(self, nodes: Ints, a: Floats, b: Floats) -> None:
        """Take over the multipliers of the nodes that both boxes have (nodes stand in order)."""
        if len(nodes):
            at = np.minimum(np.searchsorted(nodes, self.inst.node), len(nodes) - 1)
            same = nodes[at] == self.inst.node
            self.a[same], self.b[same] = a[at[same]], b[at[same]]


class Engine:
    """One search for the cheapest point of an instance.

    ``beat`` is a cost that a point must stay under to be of interest; with ``first`` the search ends
    with the first such point.  Where all costs are whole multiples of ``step``, a box is closed as soon
    as its bound rules out one step less.
    """

    def __init__(
        self,
        problem: Problem,
        leaves: Leaves,
        price: tuple[Floats, ...],
        tie: tuple[Floats, ...],
        beat: float = np.inf,
        first: bool = False,
        step: float = 0.0,
        time_limit: float | None = None,
        most_boxes: int | None = None,
    ) -> None:
        self.started = perf_counter()
        self.time_limit = time_limit
        self.most_boxes = most_boxes
        self.leaves = leaves
        self.first = first
        self.step = step
        self.root, self.place = root_of(problem, price, tie)
        self.offset = np.concatenate([[0], np.cumsum(problem.space.sizes)[:-1]])
        self.ceiling = _dearest(self.root, leaves) + 1.0
        self.beat = beat
        self.target = min(beat, self.ceiling)
        self.cells: Ints | None = None
        self.cost = np.inf
        self.boxes = 0
        self.pushed = 0
        self.heap: list[tuple[float, int, _Box]] = []

    def run(self, hints: Ints | None = None) -> Result:
        """Search to the end, or until time or boxes run out."""
        self._seed(hints)
        groups = np.arange(len(self.root.price))
        current: _Work | None = _Work(self.root, groups, self._first_multipliers())
        while current is not None and not self._over():
            current = self._step(current) or self._next()
        if current is not None:
            self._push(current)
        bounds = [bound for bound, _, _ in self.heap]
        finished = self._satisfied() or not bounds or self._closed(min(bounds))
        return Result(self.cells, self.cost, min([*bounds, self.target]), self.boxes, finished)

    def _over(self) -> bool:
        if self._satisfied():
            return True
        if self.most_boxes is not None and self.boxes >= self.most_boxes:
            return True
        return self.time_limit is not None and perf_counter() - self.started > self.time_limit

    def _satisfied(self) -> bool:
        return self.first and self.cells is not None

    def _closed(self, bound: float) -> bool:
        return bound >= self.target - CLOSE * max(1.0, abs(self.target))

    def _next(self) -> _Work | None:
        """The open box of the least bound; none where all are closed."""
        if not self.heap or self._closed(self.heap[0][0]):
            self.heap.clear()
            return None
        _, _, box = heapq.heappop(self.heap)
        inst, into = shrink(self.root, box.kept)
        work = _Work(inst, into, box.lam, box.bound)
        work.warm(box.nodes, box.a.astype(np.float64), box.b.astype(np.float64))
        return work

    def _push(self, work: _Work) -> None:
        a, b = work.a.astype(np.float32), work.b.astype(np.float32)
        box = _Box(work.into >= 0, work.bound, work.inst.node, a, b, work.lam)
        self.pushed += 1
        heapq.heappush(self.heap, (work.bound, self.pushed, box))

    def _step(self, work: _Work) -> _Work | None:
        """Bound a box, filter it, and close it or split it and go on with a half."""
        self.boxes += 1
        if not work.inst.decided:
            self._climb(work, STEPS if self.boxes > 1 else ROOT_STEPS, 0.5 if self.boxes > 1 else 1.0)
            if self._closed(work.bound):
                return None
            work = self._filtered(work)
        if work.inst.decided:
            self._finish(work)
            return None
        return self._split(work)

    def _climb(self, work: _Work, steps: int, theta: float) -> None:
        best_a, best_b, best_lam = np.empty_like(work.a), np.empty_like(work.b), np.empty_like(work.lam)
        point = np.zeros(len(work.inst.first) - 1, np.int32)
        goal = self.target + 1e-6 * max(1.0, abs(self.target))
        bound, found = ascend(
            work.inst, self.leaves, work.a, work.b, work.lam, goal, self.target, steps, theta,
            best_a, best_b, best_lam, work.mean, work.value, point,
        )  # fmt: skip
        work.a, work.b, work.lam = best_a, best_b, best_lam
        work.here = bound
        work.bound = max(work.bound, bound)
        if found < self.target:
            self._take(work.inst.cell[point])

    def _filtered(self, work: _Work) -> _Work:
        """Strike out the groups that alone lift the bound to the cost to beat."""
        inst = work.inst
        least = np.minimum.reduceat(work.value, inst.first[:-1])
        lifted = work.here + work.value - np.repeat(least, np.diff(inst.first))
        kept = lifted < self.target - CLOSE * max(1.0, abs(self.target))
        return work if kept.all() else self._part(work, kept)

    def _part(self, work: _Work, kept: Bools) -> _Work:
        """The part of a box that keeps some of its groups."""
        inst, into = shrink(work.inst, kept)
        part = _Work(inst, np.where(work.into >= 0, into[work.into], -1), work.lam, work.bound)
        part.warm(work.inst.node, work.a, work.b)
        part.mean[:] = np.bincount(into[kept], weights=work.mean[kept], minlength=len(inst.price))
        return part

    def _split(self, work: _Work) -> _Work | None:
        """Try the most undecided features, and split the one whose halves gain most."""
        best: tuple[float, list[_Work]] | None = None
        chosen, places = candidates(work.inst, work.mean, TRIALS)
        for j, place in zip(chosen.tolist(), places.tolist(), strict=True):
            low, high = work.inst.first[j], work.inst.first[j + 1]
            halves = [self._tried(work, place, high), self._tried(work, low, place)]
            left = [half for half in halves if not self._closed(half.bound)]
            if len(left) < 2:
                return left[0] if left else None
            gain = float(np.prod([max(half.bound - work.bound, 1e-9) for half in halves]))
            if best is None or gain > best[0]:
                best = (gain, sorted(halves, key=lambda half: half.bound))
        assert best is not None, "an undecided box has a feature with two groups"
        self._push(best[1][1])
        return best[1][0]

    def _tried(self, work: _Work, low: int, high: int) -> _Work:
        """The half of a box without some groups, after a few steps."""
        kept = np.ones(len(work.inst.price), np.bool_)
        kept[low:high] = False
        half = self._part(work, kept)
        if half.inst.decided:
            self._finish(half)
            half.bound = np.inf
        else:
            self._climb(half, TRIAL_STEPS, 0.5)
        return half

    def _finish(self, work: _Work) -> None:
        """A box without rules: its cheapest groups are its cheapest point, if it is one."""
        point = _cheapest(work.inst)
        if worth(work.inst, self.leaves, point) < self.target:
            self._take(work.inst.cell[point])

    def _take(self, cells: Ints) -> None:
        """Improve a point in the whole domain, and keep it if nothing as cheap is known."""
        point = self.place[self.offset + cells].astype(np.int32)
        cost = worth(self.root, self.leaves, point)
        if not np.isfinite(cost):
            return
        if not self.first:
            cost = improve(self.root, self.leaves, point, cost)
        if cost < min(self.cost, self.beat):
            self.cost = float(cost)
            self.target = self.cost - self.step * (1.0 - 1e-6)
            self.cells = self.root.cell[point].astype(np.int64)

    def _seed(self, hints: Ints | None) -> None:
        """Start from the cheapest of the known points."""
        if hints is None or not len(hints):
            return
        groups = self.place[self.offset + hints]
        groups = groups[(groups >= 0).all(axis=1)].astype(np.int32)
        taken = 0
        for i in np.argsort(self.root.price[groups].sum(axis=1), kind="stable").tolist():
            if taken == SEEDS or self._over():
                return
            if np.isfinite(worth(self.root, self.leaves, groups[i])):
                self._take(self.root.cell[groups[i]])
                taken += 1

    def _first_multipliers(self) -> Floats:
        """What a missing unit of a row is worth, if all of it cost as much as the cost to beat."""
        held = _cheapest(self.root)
        values = np.zeros(len(self.leaves.least))
        for t in range(len(self.root.roots) - 1):
            i = int(self.root.roots[t])
            while self.root.rule[i] >= 0:
                i = i + 1 if self._holds(int(self.root.rule[i]), held) else int(self.root.right[i])
            values += self.leaves.value[self.root.leaf[i]]
        missing = np.maximum(self.leaves.least - values, 0.0)
        rows = max(1, int((missing > 0).sum()))
        return np.where(missing > 0, self.target / np.maximum(missing, 1e-6) / rows, 0.0)

    def _holds(self, rule: int, point: Ints) -> bool:
        j = int(self.root.feature[rule])
        at = point[j] - self.root.first[j]
        runs = range(int(self.root.run_start[rule]), int(self.root.run_start[rule + 1]))
        return any(self.root.run_low[run] <= at < self.root.run_high[run] for run in runs)


def _cheapest(inst: Instance) -> Ints:
    """The cheapest group of each feature."""
    spans = zip(inst.first[:-1].tolist(), inst.first[1:].tolist(), strict=True)
    return np.array([low + int(np.argmin(inst.price[low:high])) for low, high in spans], dtype=np.int32)


def _dearest(inst: Instance, leaves: Leaves) -> float:
    """More than any point costs."""
    dear = float(np.maximum.reduceat(inst.price, inst.first[:-1]).sum())
    for t in range(len(inst.roots) - 1):
        ends = inst.leaf[inst.roots[t] : inst.roots[t + 1]]
        prices = leaves.price[ends[ends >= 0]]
        dear += max(0.0, float(prices[np.isfinite(prices)].max(initial=0.0)))
    return dear
