"""The branch and bound: boxes, best first, each closed by its bound."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from polyflip.core import Problem
from polyflip.core.space import Bools, Floats, Ints
from polyflip.solvers.search.bound import alone, ascend, bound_at, share_out, support
from polyflip.solvers.search.branch import History, candidates
from polyflip.solvers.search.incumbent import improve, repair, score_at, worth
from polyflip.solvers.search.instance import Instance, Leaves, root_of, shrink

__all__ = ["Engine", "Result"]

ROOT_STEPS = 120
ROOT_ROUNDS = 6
STEPS = 80
HOPE = 0.0
ROOT_HOPE = 0.01
TRIAL_STEPS = 8
TRIALS = 8
LOOK = 2
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
    """A box that is still open: its groups of the root, its dead leaves, and multipliers to start from."""

    kept: Bools
    dead: Ints
    bound: float
    theta: Halves
    lam: Floats


class _Work:
    """A box being worked on: its instance, its multipliers, and what the last climb found.

    ``into`` says into which group each group of the root went (-1: struck out), ``dead`` below which of
    the root's nodes no point of interest arrives.
    """

    def __init__(
        self, inst: Instance, into: Ints, dead: Bools, theta: Floats, lam: Floats, bound: float = -np.inf
    ) -> None:
        self.inst, self.into, self.dead, self.bound = inst, into, dead, bound
        self.theta, self.lam = theta, lam.copy()
        self.mean = np.zeros(len(inst.price))


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
        self.root, self.place = root_of(problem, leaves, price, tie)
        self.offset = np.concatenate([[0], np.cumsum(problem.space.sizes)[:-1]])
        self.ceiling = _dearest(self.root, leaves) + 1.0
        self.beat = beat
        self.target = min(beat, self.ceiling)
        self.cells: Ints | None = None
        self.cost = np.inf
        self.boxes = 0
        self.history = History(len(problem.space.axes))
        self.pushed = 0
        self.heap: list[tuple[float, int, _Box]] = []

    def run(self, hints: Ints | None = None) -> Result:
        """Search to the end, or until time or boxes run out."""
        if self.root.paid < np.inf:
            self._seed(hints)
        current: _Work | None = self._whole()
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

    def _whole(self) -> _Work:
        """The domain as the first box."""
        theta = np.zeros(len(self.root.piece_low))
        share_out(self.root, theta)
        dead = np.zeros(len(self.root.rule), np.bool_)
        return _Work(self.root, np.arange(len(self.root.price)), dead, theta, self._first_multipliers())

    def _next(self) -> _Work | None:
        """The open box of the least bound; none where all are closed."""
        if not self.heap or self._closed(self.heap[0][0]):
            self.heap.clear()
            return None
        _, _, box = heapq.heappop(self.heap)
        dead = np.unpackbits(box.dead, count=len(self.root.rule)).astype(np.bool_)
        inst, into, _ = shrink(self.root, self.leaves, box.kept, dead, np.zeros(0))
        return _Work(inst, into, dead, box.theta.astype(np.float64), box.lam, box.bound)

    def _push(self, work: _Work) -> None:
        box = _Box(work.into >= 0, np.packbits(work.dead), work.bound, work.theta.astype(np.float32), work.lam)
        self.pushed += 1
        heapq.heappush(self.heap, (work.bound, self.pushed, box))

    def _step(self, work: _Work) -> _Work | None:
        """Bound a box, filter it, and close it or split it and go on with a half."""
        self.boxes += 1
        for climb in range(ROOT_ROUNDS if self.boxes == 1 else 1):
            if work.inst.decided:
                break
            if self.boxes == 1:
                self._climb(work, ROOT_STEPS, 1.0 if climb == 0 else 0.6, ROOT_HOPE)
            else:
                self._climb(work, STEPS, 0.5, HOPE)
            if self._closed(work.bound):
                return None
            if not self.first:
                self._guess(work)
            filtered = self._filtered(work)
            if filtered is None:
                return None
            work = filtered
        if work.inst.decided:
            self._finish(work)
            return None
        return self._split(work)

    def _climb(self, work: _Work, steps: int, pace: float, hope: float) -> None:
        best_theta, best_lam = np.empty_like(work.theta), np.empty_like(work.lam)
        point = np.zeros(len(work.inst.first) - 1, np.int32)
        goal = self.target + 1e-6 * max(1.0, abs(self.target))
        bound, found = ascend(
            work.inst, self.leaves, work.theta, work.lam, goal, self.target, steps, pace, hope,
            best_theta, best_lam, work.mean, point,
        )  # fmt: skip
        work.theta, work.lam = best_theta, best_lam
        work.bound = max(work.bound, bound)
        if found < self.target:
            self._take(work.inst.cell[point])

    def _guess(self, work: _Work) -> None:
        """Repair the point that the bound chose most often."""
        inst = work.inst
        spans = zip(inst.first[:-1].tolist(), inst.first[1:].tolist(), strict=True)
        point = np.array([low + int(np.argmax(work.mean[low:high])) for low, high in spans], dtype=np.int32)
        if repair(inst, self.leaves, point, self.target) < self.target:
            self._take(inst.cell[point])

    def _filtered(self, work: _Work) -> _Work | None:
        """Strike out the groups and leaves that alone lift the bound to the cost to beat."""
        inst = work.inst
        goal = self.target - CLOSE * max(1.0, abs(self.target))
        rise, way = np.empty(len(inst.price)), np.empty(len(inst.rule))
        base = alone(inst, self.leaves, way)
        dead = base + way >= goal
        bound = bound_at(inst, self.leaves, work.theta, work.lam, rise, way)
        kept = bound + rise < goal
        dead = (dead | (bound + way >= goal)) & (inst.leaf >= 0)
        if dead.any():
            support(inst, dead, kept)
        elif kept.all():
            return work
        if not np.logical_or.reduceat(kept, inst.first[:-1]).all():
            return None
        part = self._part(work, kept, dead)
        return None if self._closed(part.bound) else part

    def _part(self, work: _Work, kept: Bools, dead: Bools | None = None) -> _Work:
        """The part of a box that keeps some of its groups, without the dead leaves."""
        gone, none = work.dead, np.zeros(len(work.inst.rule), np.bool_)
        if dead is not None and dead.any():
            gone = gone.copy()
            gone[work.inst.node[dead]] = True
        inst, into, theta = shrink(work.inst, self.leaves, kept, none if dead is None else dead, work.theta)
        bound = np.inf if inst.paid == np.inf else work.bound
        part = _Work(inst, np.where(work.into >= 0, into[work.into], -1), gone, theta, work.lam, bound)
        part.mean[:] = np.bincount(into[kept], weights=work.mean[kept], minlength=len(inst.price))
        return part

    def _split(self, work: _Work) -> _Work | None:
        """Try the most promising features, and split the one whose halves gain most.

        Promising is what is undecided and has gained much where it was tried before; after ``LOOK``
        trials that were no better than the best so far, no more are made.
        """
        best: tuple[float, list[_Work]] | None = None
        chosen, places, shares = candidates(work.inst, work.mean, TRIALS)
        order = np.argsort(-shares * self.history.expected(chosen), kind="stable")
        worse = 0
        for j, place, share in zip(chosen[order].tolist(), places[order].tolist(), shares[order].tolist(), strict=True):
            low, high = work.inst.first[j], work.inst.first[j + 1]
            halves = [self._tried(work, place, high), self._tried(work, low, place)]
            left = [half for half in halves if not self._closed(half.bound)]
            if len(left) < 2:
                return left[0] if left else None
            gain = float(np.prod([max(half.bound - work.bound, 1e-9) for half in halves]))
            self.history.learn(j, gain, share)
            worse += 1
            if best is None or gain > best[0]:
                best, worse = (gain, sorted(halves, key=lambda half: half.bound)), 0
            if worse >= LOOK:
                break
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
        elif not self._closed(half.bound):
            self._climb(half, TRIAL_STEPS, 0.5, 0.0)
        return half

    def _finish(self, work: _Work) -> None:
        """A box without rules: its cheapest groups are its cheapest point, if it is one."""
        point = _cheapest(work.inst)
        if worth(work.inst, self.leaves, point) < self.target:
            self._take(work.inst.cell[point])

    def _take(self, cells: Ints) -> None:
        """Improve a point in the whole domain, and keep it if nothing as cheap is known."""
        point = self.place[self.offset + cells].astype(np.int32)
        cost = worth(self.root, self.leaves, point) if point.min() >= 0 else np.inf
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
        held, now = np.empty(len(self.leaves.least)), np.empty(len(self.root.tree), np.int32)
        score_at(self.root, self.leaves, _cheapest(self.root), held, now)
        missing = np.maximum(self.leaves.least - held, 0.0)
        rows = max(1, int((missing > 0).sum()))
        return np.where(missing > 0, self.target / np.maximum(missing, 1e-6) / rows, 0.0)


def _cheapest(inst: Instance) -> Ints:
    """The cheapest group of each feature."""
    spans = zip(inst.first[:-1].tolist(), inst.first[1:].tolist(), strict=True)
    return np.array([low + int(np.argmin(inst.price[low:high])) for low, high in spans], dtype=np.int32)


def _dearest(inst: Instance, leaves: Leaves) -> float:
    """More than any point costs."""
    dear = float(np.maximum.reduceat(inst.price, inst.first[:-1]).sum())
    dear += inst.paid if np.isfinite(inst.paid) else 0.0
    for t in range(len(inst.tree)):
        ends = inst.leaf[inst.roots[t] : inst.roots[t + 1]]
        dear += max(0.0, float(leaves.price[ends[ends >= 0]].max(initial=0.0)))
    return dear
