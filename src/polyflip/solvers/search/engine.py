"""The branch and bound: boxes, best first, each closed by its bound."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyflip.core import Problem
from polyflip.core.space import Bools, Floats, Ints
from polyflip.solvers import Watch
from polyflip.solvers.search.bound import alone, ascend, bound_at, closed_pieces, share_out, support
from polyflip.solvers.search.branch import History, candidates
from polyflip.solvers.search.incumbent import improve, repair, score_at, worth
from polyflip.solvers.search.instance import Instance, Leaves, leaves_of, root_of, shrink
from polyflip.solvers.search.record import Record

__all__ = ["Engine", "Limits", "Prices", "Result", "search"]

ROOT_STEPS, ROOT_ROUNDS, ROOT_HOPE = 120, 6, 0.01
STEPS = 80
TRIAL_STEPS, TRIAL_PACE = 8, 0.5
PACE, HOPE = 0.5, 0.0
TRIALS, LOOK = 10, 3
SEEDS = 6
MOST_EQUALS = 200  # equally cheap points that are looked at before the order among them is given up
CLOSE = 1e-12  # a bound this near (of the cost to beat, or of one) has reached it
SURE = 1e-9  # by so much more a bound must exceed the cost to beat to strike something out
MODEST = 8.0  # multipliers of rows (times the cost to beat) that need not be made smaller
WATCHED = 0.1  # seconds between two reports to whoever watches
Halves = npt.NDArray[np.float32]  # multipliers at rest, in half the space
Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Prices:
    """What a search minimises: a price per feature and cell, and the order among equals.

    Where all prices are whole (``step`` 1) a box is closed as soon as its bound rules out one step less.
    Points whose cost lies within ``room`` (a share of it) count as equal, and all of them are found.
    """

    price: tuple[Floats, ...]
    tie: tuple[Floats, ...]
    step: float = 0.0
    room: float = 0.0


@dataclass(frozen=True, eq=False)
class Limits:
    """When a search may end before its proof.

    ``beat`` is a cost that a point must stay under to be of interest; with ``first`` the search ends
    with the first such point.  ``work`` counts nodes times steps, the same on any machine.  ``watch``
    is told the best cells, their cost and the bound, and stops the search by saying true.
    """

    seconds: float | None = None
    work: float = np.inf
    gap: float = 0.0
    beat: float = np.inf
    first: bool = False
    watch: Watch | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """What a search knows at its end: the best point, its cost, and a bound on all others."""

    cells: Ints | None
    cost: float
    bound: float
    boxes: int
    finished: bool
    stopped: bool
    record: Record | None


class _Best(NamedTuple):
    """The best point so far; none at first.  It changes as a whole, so that no interruption tears it."""

    cells: Ints | None = None
    cost: float = np.inf
    tie: float = np.inf


@dataclass(frozen=True, eq=False)
class _Box:
    """A box that is still open: its groups of the root, its dead leaves, and multipliers to start from."""

    number: int
    kept: Bools
    dead: Bits
    bound: float
    theta: Halves
    lam: Floats


class _Work:
    """A box being worked on: its instance, its multipliers, and what the last climb found.

    ``into`` says into which group each group of the root went (-1: struck out), ``dead`` below which of
    the root's nodes no point of interest arrives.
    """

    def __init__(
        self,
        number: int,
        inst: Instance,
        into: Ints,
        dead: Bools,
        theta: Floats,
        lam: Floats,
        bound: float = -np.inf,
    ) -> None:
        self.number, self.inst, self.into, self.dead, self.bound = number, inst, into, dead, bound
        self.theta, self.lam = theta, lam.copy()
        self.mean = np.zeros(len(inst.price))


class _Half(NamedTuple):
    """A half of a box that was tried: the groups of a feature that it keeps, and how far it climbed."""

    feature: int
    low: int
    high: int
    bound: float
    theta: Floats
    lam: Floats


def search(
    problem: Problem,
    prices: Prices,
    limits: Limits,
    hints: Ints | None,
    weights: Floats | None = None,
    record: bool = False,
) -> Result:
    """Search for the cheapest point of a problem; with ``weights`` for its highest score."""
    try:
        return Engine(problem, leaves_of(problem, weights), prices, limits, record).run(hints)
    except SystemError as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        raise


def _is_interrupt(error: SystemError) -> bool:
    """Whether this is Ctrl-C, as it comes out where it met the way into a kernel."""
    cause = error.__cause__
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)


class Engine:
    """One search for the cheapest point of a problem."""

    def __init__(
        self, problem: Problem, leaves: Leaves, prices: Prices, limits: Limits, record: bool = False
    ) -> None:
        self.started = self.watched = perf_counter()
        self.limits, self.leaves = limits, leaves
        self.step, self.room = prices.step, prices.room
        self.root, self.place = root_of(problem, leaves, prices.price, prices.tie)
        self.offset = np.concatenate([[0], np.cumsum(problem.space.sizes)[:-1]])
        dearest = _dearest(self.root, leaves) + 1.0
        self.target = limits.beat if record and np.isfinite(limits.beat) else min(limits.beat, dearest)
        self.best, self.equals = _Best(), 0
        self.proved, self.halted = -np.inf, False
        self.boxes, self.work, self.pushed = 0, 0.0, 0
        self.history = History(len(problem.space.axes))
        self.heap: list[tuple[float, int, _Box]] = []
        self.record = Record(leaves.scale, leaves.whole) if record else None

    def run(self, hints: Ints | None = None) -> Result:
        """Search to the end, or until a limit is met, or whoever watches or the user interrupts.

        ``proved`` is the least bound of all open boxes, taken between two of them: it holds whenever
        the search is interrupted.
        """
        current: _Work | None = None
        stopped = True
        try:
            if self.root.paid < np.inf:
                self._seed(hints)
            current = self._whole()
            while current is not None:
                least = min(current.bound, self.heap[0][0]) if self.heap else current.bound
                self.proved = max(self.proved, least)
                if self.boxes == 1:  # the bound of the whole domain is known
                    self._report()
                if self._over():
                    break
                current = self._step(current) or self._next()
            stopped = self.halted
        except KeyboardInterrupt:
            current = None
        except SystemError as error:
            if not _is_interrupt(error):
                raise
            current = None
        open_left = stopped or current is not None
        finished = self._satisfied() or not open_left
        bound = min(self.proved, self.target) if open_left else self.target
        cells, cost, _ = self.best
        return Result(cells, cost, bound, self.boxes, finished, stopped, self.record)

    def _over(self) -> bool:
        limits, now = self.limits, perf_counter()
        if limits.watch is not None and now - self.watched >= WATCHED:
            self._report()
        if self.halted or self._satisfied() or self.work > limits.work:
            return True
        cost = self.best.cost
        if limits.gap > 0.0 and cost - self.proved <= limits.gap * abs(cost) < np.inf:
            return True
        return limits.seconds is not None and now - self.started > limits.seconds

    def _report(self) -> None:
        self.watched = perf_counter()
        if self.limits.watch is not None and not self.halted:
            cells, cost, _ = self.best
            if self.limits.watch(cells, cost, min(self.proved, self.target)):
                self.halted = True

    def _satisfied(self) -> bool:
        return self.limits.first and self.best.cells is not None

    def _closed(self, bound: float) -> bool:
        return bound >= self.target - CLOSE * max(1.0, abs(self.target))

    def _whole(self) -> _Work:
        """The domain as the first box."""
        theta = np.zeros(len(self.root.piece_low))
        share_out(self.root, theta)
        dead = np.zeros(len(self.root.rule), np.bool_)
        lam = self._first_multipliers()
        return _Work(0, self.root, np.arange(len(self.root.price)), dead, theta, lam)

    def _next(self) -> _Work | None:
        """The open box of the least bound; none where all are closed."""
        while self.heap:
            _, _, box = heapq.heappop(self.heap)
            closed = self._closed(box.bound)
            if closed and self.record is None:
                self.heap.clear()
                return None
            dead = np.unpackbits(box.dead, count=len(self.root.rule)).astype(np.bool_)
            inst, into, _ = shrink(self.root, self.leaves, box.kept, dead, np.zeros(0))
            work = _Work(box.number, inst, into, dead, box.theta.astype(np.float64), box.lam, box.bound)
            if not closed:
                return work
            self._close(work)
        return None

    def _push(self, work: _Work) -> None:
        kept, dead = work.into >= 0, np.packbits(work.dead)
        box = _Box(work.number, kept, dead, work.bound, work.theta.astype(np.float32), work.lam)
        self.pushed += 1
        heapq.heappush(self.heap, (work.bound, self.pushed, box))

    def _step(self, work: _Work) -> _Work | None:
        """Bound a box, filter it, and close it or split it and go on with a half."""
        self.boxes += 1
        root = self.boxes == 1
        for climb in range(ROOT_ROUNDS if root else 1):
            if work.inst.decided:
                break
            if root:
                self._climb(work, ROOT_STEPS, 1.0 if climb == 0 else 0.6, ROOT_HOPE)
            else:
                self._climb(work, STEPS, PACE, HOPE)
            if self._closed(work.bound):
                self._close(work)
                return None
            if not self.limits.first:
                self._guess(work)
            filtered = self._filtered(work)
            if filtered is None:
                return None
            work = filtered
        if work.inst.decided:
            self._finish(work)
            return None
        return self._split(work)

    def _climb(self, work: _Work, steps: int, pace: float, hope: float = 0.0) -> None:
        first, last = work.inst.first[:-1], work.inst.first[1:]
        shut = np.zeros(len(work.theta))
        work.theta, work.lam, bound = self._ascend(work, work.mean, first, last, shut, steps, pace, hope)
        work.bound = max(work.bound, bound)

    def _ascend(
        self, work: _Work, mean: Floats, first: Ints, last: Ints, shut: Floats,
        steps: int, pace: float, hope: float,
    ) -> tuple[Floats, Floats, float]:  # fmt: skip
        """Climb from a box's multipliers; returns the best of them, and the bound. A good point is taken."""
        best_theta, best_lam = np.empty_like(work.theta), np.empty_like(work.lam)
        point = np.zeros(len(first), np.int32)
        goal = self.target + 1e-6 * max(1.0, abs(self.target))
        bound, found, taken = ascend(
            work.inst, self.leaves, work.theta.copy(), work.lam.copy(), first, last, shut, goal, goal,
            steps, pace, hope, best_theta, best_lam, mean, point,
        )  # fmt: skip
        self.work += float(taken) * len(work.inst.rule)
        if found <= self.target:
            self._take(work.inst.cell[point])
        return best_theta, best_lam, bound

    def _close(self, work: _Work) -> None:
        """A box ends: nothing in it is of interest."""
        if work.inst.decided:
            self._finish(work)
        elif self.record is not None:
            self._make_modest(work)
            theta = work.theta.astype(np.float32).astype(np.float64)
            if not self._closed(self._bound_of(work, theta, work.lam)):
                theta = work.theta  # the short form of the multipliers just misses
            self.record.close(work.number, work.inst, theta, work.lam)
            self._give_up_if_full()

    def _bound_of(self, work: _Work, theta: Floats, lam: Floats) -> float:
        rise, way = np.empty(len(work.inst.price)), np.empty(len(work.inst.rule))
        return float(bound_at(work.inst, self.leaves, theta, lam, rise, way))

    def _make_modest(self, work: _Work) -> None:
        """Make the rows' multipliers no larger than they need be: a checker adds them up in whole numbers.

        Where no point meets the requirement any large multiplier will do, and climbs find very large ones.
        """
        modest = MODEST * max(1.0, abs(self.target))
        if work.lam.max(initial=0.0) <= modest:
            return
        bound = self._bound_of(work, work.theta, work.lam)
        enough = bound if not self._closed(bound) else min(bound, self.target + SURE * abs(self.target))
        while work.lam.max() > modest:
            smaller = work.lam / 8.0
            if self._bound_of(work, work.theta, smaller) < enough:
                return
            work.lam = smaller

    def _give_up_if_full(self) -> None:
        if self.record is not None and self.record.full:
            self.record = None

    def _guess(self, work: _Work) -> None:
        """Repair the point that the bound chose most often."""
        inst = work.inst
        spans = zip(inst.first[:-1].tolist(), inst.first[1:].tolist(), strict=True)
        point = np.array([low + int(np.argmax(work.mean[low:high])) for low, high in spans], dtype=np.int32)
        if repair(inst, self.leaves, point, self.target) < self.target:
            self._take(inst.cell[point])

    def _filtered(self, work: _Work) -> _Work | None:
        """Strike out the groups and leaves that alone lift the bound to the cost to beat.

        On the record only the multipliers that are kept strike out, so that a checker need not know more.
        """
        inst = work.inst
        goal = self.target + SURE * max(1.0, abs(self.target))
        if self.record is not None:
            self._make_modest(work)
            work.theta = work.theta.astype(np.float32).astype(np.float64)
        rise, way = np.empty(len(inst.price)), np.empty(len(inst.rule))
        dead = np.zeros(len(inst.rule), np.bool_)
        if self.record is None:
            dead = alone(inst, self.leaves, way) + way >= goal
        bound = bound_at(inst, self.leaves, work.theta, work.lam, rise, way)
        kept = bound + rise < goal
        dead = (dead | (bound + way >= goal)) & (inst.leaf >= 0)
        if dead.any() and self.record is None:
            support(inst, dead, kept)
        if kept.all() and not dead.any():
            return work
        number = work.number
        if self.record is not None:
            number = self.record.filter(number, inst, work.theta, work.lam)
            self._give_up_if_full()
        if not np.logical_or.reduceat(kept, inst.first[:-1]).all():
            return None
        part = self._part(work, number, kept, dead)
        return None if part.inst.paid == np.inf else part

    def _part(
        self, work: _Work, number: int, kept: Bools, dead: Bools | None = None, theta: Floats | None = None
    ) -> _Work:
        """The part of a box that keeps some of its groups, without the dead leaves."""
        gone, none = work.dead, np.zeros(len(work.inst.rule), np.bool_)
        if dead is not None and dead.any():
            gone = gone.copy()
            gone[work.inst.node[dead]] = True
        inst, into, theta = shrink(
            work.inst,
            self.leaves,
            kept,
            none if dead is None else dead,
            work.theta if theta is None else theta,
        )
        bound = np.inf if inst.paid == np.inf else work.bound
        into_root = np.where(work.into >= 0, into[work.into], -1)
        part = _Work(number, inst, into_root, gone, theta, work.lam, bound)
        part.mean[:] = np.bincount(into[kept], weights=work.mean[kept], minlength=len(inst.price))
        return part

    def _split(self, work: _Work) -> _Work | None:
        """Try the most promising features, and split the one whose halves gain most.

        Promising is what is undecided and has gained much where it was tried before; after ``LOOK``
        trials that were no better than the best so far, no more are made.
        """
        best: tuple[float, int, int, list[_Half]] | None = None
        chosen, places, doubts = candidates(work.inst, work.mean, TRIALS)
        order = np.argsort(-doubts * self.history.expected(chosen), kind="stable")
        worse = 0
        tried = zip(chosen[order].tolist(), places[order].tolist(), doubts[order].tolist(), strict=True)
        for j, place, doubt in tried:
            low, high = int(work.inst.first[j]), int(work.inst.first[j + 1])
            halves = [self._tried(work, j, low, place), self._tried(work, j, place, high)]
            if any(self._closed(half.bound) for half in halves):
                return self._chosen(work, j, place, halves)
            gain = float(np.prod([max(half.bound - work.bound, 1e-9) for half in halves]))
            self.history.learn(j, gain, doubt)
            worse += 1
            if best is None or gain > best[0]:
                best, worse = (gain, j, place, halves), 0
            if worse >= LOOK:
                break
        assert best is not None, "an undecided box has a feature with two groups"
        return self._chosen(work, *best[1:])

    def _chosen(self, work: _Work, j: int, place: int, halves: list[_Half]) -> _Work | None:
        """Go on with the half of the lesser bound; the other waits, or is closed."""
        numbers = (work.number, work.number)
        if self.record is not None:
            numbers = self.record.split(work.number, j, int(work.inst.begin[place]))
        left = []
        for half, number in zip(halves, numbers, strict=True):
            if self._closed(half.bound) and self.record is None:
                continue
            part = self._half(work, number, half)
            if self._closed(half.bound):
                if part.inst.paid < np.inf:  # an empty half needs no word
                    self._close(part)
            else:
                left.append(part)
        left.sort(key=lambda part: part.bound)
        for part in left[1:]:
            self._push(part)
        return left[0] if left else None

    def _tried(self, work: _Work, j: int, low: int, high: int) -> _Half:
        """The half of a box with the groups of a feature from ``low`` to ``high``, after a few steps."""
        inst = work.inst
        first, last = inst.first[:-1].copy(), inst.first[1:].copy()
        first[j], last[j] = low, high
        shut = closed_pieces(inst, j, low, high)
        theta, lam, bound = self._ascend(
            work, np.zeros(len(inst.price)), first, last, shut, TRIAL_STEPS, TRIAL_PACE, 0.0
        )
        return _Half(j, low, high, max(bound, work.bound), theta, lam)

    def _half(self, work: _Work, number: int, half: _Half) -> _Work:
        """A half as a box of its own."""
        kept = np.ones(len(work.inst.price), np.bool_)
        kept[work.inst.first[half.feature] : half.low] = False
        kept[half.high : work.inst.first[half.feature + 1]] = False
        part = self._part(work, number, kept, theta=half.theta)
        part.lam[:], part.bound = half.lam, max(part.bound, half.bound)
        return part

    def _finish(self, work: _Work) -> None:
        """A box without rules: its cheapest groups are its cheapest point, if it is one."""
        inst, leaves = work.inst, self.leaves
        point = _cheapest(inst)
        if worth(inst, leaves, point) <= self.target:
            self._take(inst.cell[point])
        if self.record is not None:
            work.lam[:] = 0.0
            missing = leaves.met - inst.got
            if len(missing) and missing.max() > 0:
                row = int(np.argmax(missing))
                work.lam[row] = 2.0 * max(1.0, abs(self.target)) / (leaves.least - inst.got)[row]
            self.record.close(work.number, inst, work.theta, work.lam)

    def _take(self, cells: Ints) -> None:
        """Improve a point in the whole domain, and keep it if nothing as good is known."""
        point = self.place[self.offset + cells].astype(np.int32)
        cost = worth(self.root, self.leaves, point) if point.min(initial=0) >= 0 else np.inf
        if not np.isfinite(cost):
            return
        best = self.best
        if not self.limits.first and cost < best.cost:
            cost = improve(self.root, self.leaves, point, cost)
        if cost >= self.limits.beat:
            return
        tie = float(self.root.tie[point].sum())
        room = self.room * abs(cost)
        if cost < best.cost - room:
            self.equals = 0
        elif cost > best.cost + room or tie >= best.tie - CLOSE:
            return
        self.equals += 1
        self.best = _Best(self.root.cell[point].astype(np.int64), min(float(cost), best.cost), tie)
        if self.equals > MOST_EQUALS:
            self.room = 0.0
        cost = self.best.cost
        self.target = cost + 2.0 * self.room * abs(cost) - self.step * (1.0 - 1e-6)
        self._report()

    def _seed(self, hints: Ints | None) -> None:
        """Start from the cheapest of the known points."""
        if hints is None or not len(hints):
            return
        groups = self.place[self.offset + hints]
        groups = groups[(groups >= 0).all(axis=1)].astype(np.int32)
        taken = 0
        for i in np.argsort(self.root.price[groups].sum(axis=1), kind="stable").tolist():
            if taken == SEEDS or (taken and self._over()):
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
    """The cheapest group of each feature, the first of them in the order among equals."""
    spans = zip(inst.first[:-1].tolist(), inst.first[1:].tolist(), strict=True)
    order = np.lexsort((inst.tie, inst.price))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.array([low + int(np.argmin(rank[low:high])) for low, high in spans], dtype=np.int32)


def _dearest(inst: Instance, leaves: Leaves) -> float:
    """More than any point costs."""
    dear = float(np.maximum.reduceat(inst.price, inst.first[:-1]).sum())
    dear += inst.paid if np.isfinite(inst.paid) else 0.0
    for t in range(len(inst.tree)):
        ends = inst.leaf[inst.roots[t] : inst.roots[t + 1]]
        dear += max(0.0, float(leaves.price[ends[ends >= 0]].max(initial=0.0)))
    return dear
