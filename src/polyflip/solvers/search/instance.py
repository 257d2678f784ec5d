"""The problem inside a box, as flat arrays: only the trees, rules and cells that the box leaves undecided.

A rule that holds on all cells of the box (or on none) decides its nodes, which drop out of their
trees; so do leaves that are struck out, and turns between leaves of equal worth.  Cells that no
remaining rule tells apart become one *group*, at the price of its cheapest cell; a tree that becomes
a single leaf is added up and leaves.  What is left is a smaller problem of the same shape, so that
boxes within boxes shrink fast, and the same box has the same instance however it was reached.

A *slot* is a feature that a tree asks for.  It cuts the feature's groups into *pieces*, which the tree
cannot tell apart any further.  A *part* of a slot is the set of pieces that is left at a node: the
whole slot at the root, less with every turn on the way down.  Most parts begin with their slot, or end
with it.  A part has a number: its last piece where it begins with its slot; its first piece, counted
behind all pieces, where it ends with it; behind these come the *odd* parts, which have a list of runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyflip.core import Problem
from polyflip.core.ensemble import LEAF
from polyflip.core.space import Bools, Floats, Ints

__all__ = ["DEAD", "Instance", "Leaves", "askers_of", "leaves_of", "root_of", "shrink"]

DEAD = -2  # the leaf of a node where no point of interest arrives
ENDING, ODD = 1 << 28, 1 << 29  # while slots are built: where the numbers of parts of these kinds begin


class Instance(NamedTuple):
    """Trees over groups of cells.

    Nodes stand in preorder, so that a left child follows its parent; ``rule`` is -1 at a leaf, ``leaf``
    is -1 at an inner node.  ``turn`` is the slot that a node's parent asks, ``old`` and ``new`` are its
    parts before and after the turn to the node.  Runs of rules count groups from the
    first of their feature; pieces and odd parts count pieces from the first of all.  ``cell`` is the cell
    that a group is shown as, ``begin`` the first cell that it holds.  ``got`` and ``paid`` is what the
    trees that are decided add to each row and to the cost.  ``node`` is the root instance's node below
    which all that is left is what stands here.
    """

    tree: Ints
    roots: Ints
    node: Ints
    rule: Ints
    right: Ints
    parent: Ints
    leaf: Ints
    feature: Ints
    run_start: Ints
    run_low: Ints
    run_high: Ints
    first: Ints
    price: Floats
    tie: Floats
    cell: Ints
    begin: Ints
    got: Floats
    paid: float
    slots: Ints
    slot_feature: Ints
    pieces: Ints
    piece_low: Ints
    odd_run: Ints
    odd_low: Ints
    odd_high: Ints
    turn: Ints
    old: Ints
    new: Ints

    @property
    def decided(self) -> bool:
        """Whether no tree is left."""
        return len(self.tree) == 0


class Leaves(NamedTuple):
    """What a leaf is worth: one value per row of the requirement, and its own price.

    A forbidden leaf has an infinite price.  ``least`` is what each row must reach, ``met`` what a sum
    of doubles that reaches it cannot fall under, ``scale`` what the rows were multiplied by, and ``whole``
    what made them whole before (0: nothing).  ``priced`` is 1 where leaves have prices of their own.
    """

    value: Floats
    price: Floats
    least: Floats
    met: Floats
    scale: Floats
    whole: Ints
    priced: int


def leaves_of(problem: Problem, weights: Floats | None = None) -> Leaves:
    """The leaves of a problem; with ``weights`` those of the question for the highest score.

    Rows are scaled so that a step moves their multipliers about as far as the pieces' prices.
    """
    ensemble = problem.ensemble
    rows = problem.inequalities if weights is None else []
    price = np.zeros(ensemble.leaves) if weights is None else -(ensemble.values @ weights)
    price = np.where(ensemble.forbidden, np.inf, price)
    value = np.zeros((ensemble.leaves, len(rows)))
    least, met, scales = np.zeros(len(rows)), np.zeros(len(rows)), np.ones(len(rows))
    for i, row in enumerate(rows):
        high, low = np.full(ensemble.trees, -np.inf), np.full(ensemble.trees, np.inf)
        np.maximum.at(high, ensemble.tree_of_leaf, row.leaf)
        np.minimum.at(low, ensemble.tree_of_leaf, row.leaf)
        size = float(np.sqrt(np.sum((high - low) ** 2)))
        scales[i] = scale = 2.0 / size if size > 0 else 1.0
        value[:, i], least[i] = row.leaf * scale, row.at_least * scale
        met[i] = (row.at_least - (0.5 if row.whole else row.slack)) * scale
        least[i] = least[i] if row.whole else met[i]
    priced = int(bool(np.any((price != 0.0) & np.isfinite(price))))
    whole = np.array([row.scale if row.whole else 0 for row in rows], dtype=np.int64)
    return Leaves(value, price, least, met, scales, whole, priced)


def root_of(
    problem: Problem, leaves: Leaves, price: tuple[Floats, ...], tie: tuple[Floats, ...]
) -> tuple[Instance, Ints]:
    """The instance of a problem's domain at given prices, and into which group each cell went."""
    whole = _whole(problem, leaves, price, tie)
    dead = np.isinf(leaves.price)[np.maximum(whole.leaf, 0)] & (whole.leaf >= 0)
    root, into, _ = shrink(whole, leaves, np.concatenate(problem.domain.allowed), dead, np.zeros(0))
    return root._replace(node=np.arange(len(root.rule), dtype=np.int32)), into


def _whole(problem: Problem, leaves: Leaves, price: tuple[Floats, ...], tie: tuple[Floats, ...]) -> Instance:
    """The instance of the whole space: every node, every rule, a group per cell, no slots yet."""
    ensemble, rules = problem.ensemble, problem.ensemble.rules
    sizes = problem.space.sizes

    def flat(values: object) -> Ints:
        return np.ascontiguousarray(values, dtype=np.int32)

    none = flat([])
    cells = flat(np.concatenate([np.arange(size) for size in sizes]))
    return Instance(
        tree=flat(np.arange(ensemble.trees)),
        roots=flat(np.append(ensemble.roots, len(ensemble.rule))),
        node=flat(np.arange(len(ensemble.rule))),
        rule=flat(ensemble.rule),
        right=flat(ensemble.right),
        parent=none,
        leaf=flat(np.where(ensemble.leaf == LEAF, LEAF, _alike(leaves)[ensemble.leaf])),
        feature=flat(rules.feature),
        run_start=flat(rules.start),
        run_low=flat(rules.low),
        run_high=flat(rules.high),
        first=flat(np.concatenate([[0], np.cumsum(sizes)])),
        price=np.concatenate(price).astype(np.float64),
        tie=np.concatenate(tie).astype(np.float64),
        cell=cells,
        begin=cells,
        got=np.zeros(len(leaves.least)),
        paid=0.0,
        slots=flat(np.zeros(ensemble.trees + 1)),
        slot_feature=none,
        pieces=flat([0]),
        piece_low=none,
        odd_run=none,
        odd_low=none,
        odd_high=none,
        turn=none,
        old=none,
        new=none,
    )


def _alike(leaves: Leaves) -> Ints:
    """Per leaf the first leaf that is worth the same."""
    worth = np.column_stack([leaves.value, leaves.price])
    _, first, kind = np.unique(worth, axis=0, return_index=True, return_inverse=True)
    alike: Ints = first[kind.ravel()]
    return alike


def shrink(
    instance: Instance, leaves: Leaves, kept: Bools, dead: Bools, theta: Floats
) -> tuple[Instance, Ints, Floats]:
    """The instance of a box, into which of its groups each group went (-1: struck out), and its prices.

    Of every feature at least one group must be ``kept``.  ``dead`` says below which nodes all leaves are
    struck out.  ``theta`` holds a price per piece, and comes back as a price per new piece.
    """
    trees, groups, into, source, kept_before = _shrink(instance, leaves.value, leaves.price, kept, dead)
    slots, prices = _slots(trees, groups, instance, into, source, kept_before, theta)
    return Instance(*trees, *groups, *slots), into, prices


@njit(cache=True, nogil=True)
def _rule_states(inst, before):
    """Per rule: 0 where it holds in no kept group of its feature, 2 where in all, 1 otherwise."""
    state = np.empty(len(inst.feature), np.int8)
    for r in range(len(inst.feature)):
        start = inst.first[inst.feature[r]]
        held = 0
        for run in range(inst.run_start[r], inst.run_start[r + 1]):
            held += before[start + inst.run_high[run]] - before[start + inst.run_low[run]]
        left = before[inst.first[inst.feature[r] + 1]] - before[start]
        state[r] = 0 if held == 0 else (2 if held == left else 1)
    return state


@njit(cache=True, nogil=True)
def _worths(inst, state, dead):
    """Per node the leaf that stands for all below it (DEAD where none is left), -1 where they differ."""
    only = np.empty(len(inst.rule), np.int32)
    for i in range(len(inst.rule) - 1, -1, -1):
        r = inst.rule[i]
        if dead[i] or r < 0:
            only[i] = DEAD if dead[i] else inst.leaf[i]
        elif state[r] == 2:
            only[i] = only[i + 1]
        elif state[r] == 0:
            only[i] = only[inst.right[i]]
        else:
            only[i] = only[i + 1] if only[i + 1] == only[inst.right[i]] else -1
    return only


@njit(cache=True, nogil=True)
def _grouped(inst, kept, used):
    """Groups that no used rule tells apart become one; ``place[g + j]`` counts those before g."""
    features = len(inst.first) - 1
    total = len(kept)
    cut = np.zeros(total + features, np.bool_)
    for r in range(len(inst.feature)):
        if used[r]:
            j = inst.feature[r]
            for run in range(inst.run_start[r], inst.run_start[r + 1]):
                cut[inst.first[j] + j + inst.run_low[run]] = True
                cut[inst.first[j] + j + inst.run_high[run]] = True
    place = np.zeros(total + features, np.int32)
    first = np.zeros(features + 1, np.int32)
    price, tie = np.empty(total), np.empty(total)
    cell, begin = np.empty(total, np.int32), np.empty(total, np.int32)
    into = np.full(total, -1, np.int32)
    count = 0
    for j in range(features):
        fresh = True
        for g in range(inst.first[j], inst.first[j + 1]):
            if cut[g + j]:
                fresh = True
            place[g + j] = count - first[j]
            if not kept[g]:
                continue
            if fresh:
                price[count], tie[count], cell[count] = inst.price[g], inst.tie[g], inst.cell[g]
                begin[count] = inst.begin[g]
                count += 1
                fresh = False
                into[g] = count - 1
            else:
                last = count - 1
                into[g] = last
                if inst.price[g] < price[last] or (inst.price[g] == price[last] and inst.tie[g] < tie[last]):
                    price[last], tie[last], cell[last] = inst.price[g], inst.tie[g], inst.cell[g]
        place[inst.first[j + 1] + j] = count - first[j]
        first[j + 1] = count
    price, tie, cell, begin = (
        price[:count].copy(),
        tie[:count].copy(),
        cell[:count].copy(),
        begin[:count].copy(),
    )
    return place, first, price, tie, cell, begin, into


@njit(cache=True, nogil=True)
def _shrink(inst, value, price, kept, dead):
    before = np.zeros(len(kept) + 1, np.int32)
    for g in range(len(kept)):
        before[g + 1] = before[g] + kept[g]
    state = _rule_states(inst, before)
    only = _worths(inst, state, dead)
    n, trees = len(inst.rule), len(inst.roots) - 1
    roots, tree = np.zeros(trees + 1, np.int32), np.empty(trees, np.int32)
    came = np.empty(trees, np.int32)
    source = np.empty(n, np.int32)
    right, parent = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    used = np.zeros(len(inst.feature), np.bool_)
    got, paid = inst.got.copy(), inst.paid
    stack_node, stack_parent = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    stack_side = np.empty(n + 1, np.int32)
    count, left = 0, 0
    for t in range(trees):
        if only[inst.roots[t]] != -1:
            leaf = only[inst.roots[t]]
            if leaf == DEAD:
                paid = np.inf
            else:
                paid += price[leaf]
                got += value[leaf]
            continue
        tree[left], came[left] = inst.tree[t], t
        stack_node[0], stack_parent[0], stack_side[0] = inst.roots[t], -1, 0
        top = 1
        while top:
            top -= 1
            i, above, turn = stack_node[top], stack_parent[top], stack_side[top]
            while only[i] == -1 and state[inst.rule[i]] != 1:
                i = i + 1 if state[inst.rule[i]] == 2 else inst.right[i]
            source[count], parent[count] = i, above
            if turn == 1:
                right[above] = count
            if only[i] == -1:
                used[inst.rule[i]] = True
                stack_node[top], stack_parent[top], stack_side[top] = inst.right[i], count, 1
                stack_node[top + 1], stack_parent[top + 1], stack_side[top + 1] = i + 1, count, 0
                top += 2
            count += 1
        left += 1
        roots[left] = count
    place, first, cost, tie, cell, begin, into = _grouped(inst, kept, used)
    number = np.full(len(used), -1, np.int32)
    rules = 0
    runs = 0
    for r in range(len(used)):
        if used[r]:
            number[r] = rules
            rules += 1
            runs += inst.run_start[r + 1] - inst.run_start[r]
    feature = np.empty(rules, np.int32)
    run_start = np.zeros(rules + 1, np.int32)
    run_low, run_high = np.empty(runs, np.int32), np.empty(runs, np.int32)
    runs = 0
    for r in range(len(used)):
        if used[r]:
            k, j = number[r], inst.feature[r]
            feature[k] = j
            for run in range(inst.run_start[r], inst.run_start[r + 1]):
                low = place[inst.first[j] + j + inst.run_low[run]]
                high = place[inst.first[j] + j + inst.run_high[run]]
                if low < high:
                    run_low[runs], run_high[runs] = low, high
                    runs += 1
            run_start[k + 1] = runs
    rule, leaf, node = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    for i in range(count):
        leaf[i], node[i] = only[source[i]], inst.node[source[i]]
        rule[i] = number[inst.rule[source[i]]] if leaf[i] == -1 else -1
    return (
        (
            tree[:left].copy(), roots[: left + 1].copy(), node, rule,
            right[:count].copy(), parent[:count].copy(), leaf,
            feature, run_start, run_low[:runs].copy(), run_high[:runs].copy(),
        ),
        (first, cost, tie, cell, begin, got, paid),
        into, came[:left].copy(), before,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _sorted_in(values, count, value):
    """Put a value into the sorted distinct values before ``count``; returns how many there are."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < count and values[low] == value:
        return count
    for k in range(count, low, -1):
        values[k] = values[k - 1]
    values[low] = value
    return count + 1


@njit(cache=True, nogil=True)
def _piece_at(piece_low, low, high, group):
    """The piece of a slot (pieces ``low`` to ``high``) in which a group lies; ``high`` behind the last."""
    while low < high:
        middle = (low + high) // 2
        if piece_low[middle] < group:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, inline="always")
def _runs_at(part, low, high, odd_run, odd_low, odd_high, run_low, run_high):
    """The runs of a part while slots are built, put into ``run_low, run_high``; returns how many."""
    if part < ENDING:
        run_low[0], run_high[0] = low, part + 1
        return 1
    if part < ODD:
        run_low[0], run_high[0] = part - ENDING, high
        return 1
    count = 0
    for k in range(odd_run[part - ODD], odd_run[part - ODD + 1]):
        run_low[count], run_high[count] = odd_low[k], odd_high[k]
        count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _with_run(run_low, run_high, count, low, high):
    """Runs with one more behind them, where it is not empty; returns how many there are."""
    if low >= high:
        return count
    if count and run_high[count - 1] == low:
        run_high[count - 1] = high
        return count
    run_low[count], run_high[count] = low, high
    return count + 1


@njit(cache=True, nogil=True)
def _slots(trees, groups, inst, into, came, before, theta):
    """Slots, pieces and parts of every tree, and the prices of the pieces as they were."""
    tree, roots, _, rule, right, parent, _, feature, run_start, run_low, run_high = trees
    first = groups[0]
    n, count = len(rule), len(tree)
    features = len(first) - 1
    slots = np.zeros(count + 1, np.int32)
    slot_feature = np.empty(n, np.int32)
    pieces, piece_low = np.zeros(n + 1, np.int32), np.empty(2 * len(run_low) + 3 * n + 1, np.int32)
    odd_run = np.zeros(n + 1, np.int32)
    odd_low, odd_high = np.empty(n + 16, np.int32), np.empty(n + 16, np.int32)
    turn = np.full(n, -1, np.int32)
    old, new = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    slot_of, stamp = np.zeros(features, np.int32), np.full(features, -1, np.int32)
    asks, start = np.zeros(n + 1, np.int32), np.zeros(n + 2, np.int32)
    at = np.zeros(n + 1, np.int32)  # the part in force of each slot of the tree
    path_node, path_slot = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    path_part = np.empty(n + 1, np.int32)
    n_slots, n_pieces, n_odd, n_runs = 0, 0, 0, 0
    for t in range(count):
        base = n_slots
        for i in range(roots[t], roots[t + 1]):
            r = rule[i]
            if r < 0:
                continue
            j = feature[r]
            if stamp[j] != t:
                stamp[j], slot_of[j] = t, n_slots
                slot_feature[n_slots] = j
                asks[n_slots - base] = 0
                n_slots += 1
            asks[slot_of[j] - base] += 2 * (run_start[r + 1] - run_start[r])
        own = n_slots - base
        start[0] = 0
        for s in range(own):
            start[s + 1] = start[s] + asks[s]
            asks[s] = 0
        cuts = np.empty(start[own], np.int32)
        for i in range(roots[t], roots[t + 1]):
            r = rule[i]
            if r < 0:
                continue
            s, size = slot_of[feature[r]] - base, first[feature[r] + 1] - first[feature[r]]
            for run in range(run_start[r], run_start[r + 1]):
                if run_low[run] > 0:
                    asks[s] = _sorted_in(cuts[start[s] : start[s + 1]], asks[s], run_low[run])
                if run_high[run] < size:
                    asks[s] = _sorted_in(cuts[start[s] : start[s + 1]], asks[s], run_high[run])
        if n_pieces + start[own] + own >= len(piece_low):
            piece_low = np.concatenate((piece_low, np.empty(n_pieces + start[own] + own, np.int32)))
        for s in range(own):
            low = first[slot_feature[base + s]]
            pieces[base + s] = n_pieces
            piece_low[n_pieces] = low
            for k in range(asks[s]):
                piece_low[n_pieces + 1 + k] = low + cuts[start[s] + k]
            n_pieces += asks[s] + 1
            at[s] = n_pieces - 1  # the whole slot
        pieces[n_slots] = n_pieces
        most = start[own] + own + 1
        left_low, left_high = np.empty(most, np.int32), np.empty(most, np.int32)
        part_low, part_high = np.empty(most, np.int32), np.empty(most, np.int32)
        top = 0
        for i in range(roots[t] + 1, roots[t + 1]):
            above = parent[i]
            while top and path_node[top - 1] != above:
                top -= 1
                at[path_slot[top]] = path_part[top]
            r = rule[above]
            s = slot_of[feature[r]] - base
            first_piece, last_piece = pieces[base + s], pieces[base + s + 1]
            held = _runs_at(at[s], first_piece, last_piece, odd_run, odd_low, odd_high, part_low, part_high)
            shift = first[feature[r]]
            runs = 0
            for k in range(held):
                low, high = part_low[k], part_high[k]
                for run in range(run_start[r], run_start[r + 1]):
                    a = _piece_at(piece_low, first_piece, last_piece, shift + run_low[run])
                    b = _piece_at(piece_low, first_piece, last_piece, shift + run_high[run])
                    if right[above] != i:  # to the left: what the rule holds
                        runs = _with_run(left_low, left_high, runs, max(a, low), min(b, high))
                    else:  # to the right: what lies before and behind
                        runs = _with_run(left_low, left_high, runs, low, min(a, high))
                        low = max(low, b)
                if right[above] == i:
                    runs = _with_run(left_low, left_high, runs, low, high)
            if runs == 1 and left_low[0] == first_piece:
                part = left_high[0] - 1
            elif runs == 1 and left_high[0] == last_piece:
                part = ENDING + left_low[0]
            else:
                if n_runs + runs > len(odd_low):
                    odd_low = np.concatenate((odd_low, np.empty(n_runs + runs, np.int32)))
                    odd_high = np.concatenate((odd_high, np.empty(n_runs + runs, np.int32)))
                for k in range(runs):
                    odd_low[n_runs], odd_high[n_runs] = left_low[k], left_high[k]
                    n_runs += 1
                part = ODD + n_odd
                n_odd += 1
                odd_run[n_odd] = n_runs
            turn[i], old[i], new[i] = base + s, at[s], part
            path_node[top], path_slot[top], path_part[top] = i, s, at[s]
            top += 1
            at[s] = part
        slots[t + 1] = n_slots
    for i in range(n):
        for parts in (old, new):
            if parts[i] >= ODD:
                parts[i] += 2 * n_pieces - ODD
            elif parts[i] >= ENDING:
                parts[i] += n_pieces - ENDING
    prices = np.zeros(n_pieces)
    if len(theta):
        back = np.zeros(len(groups[1]) + 1, np.int32)  # the first of the old groups in each new one
        back[len(groups[1])] = len(into)
        for g in range(len(into) - 1, -1, -1):
            if into[g] >= 0:
                back[into[g]] = g
        for t in range(count):
            for s in range(slots[t], slots[t + 1]):
                j = slot_feature[s]
                was = inst.slots[came[t]]
                while inst.slot_feature[was] != j:
                    was += 1
                low, high = inst.pieces[was], inst.pieces[was + 1]
                for p in range(pieces[s], pieces[s + 1]):
                    begin = back[piece_low[p]]
                    end = back[piece_low[p + 1]] if p + 1 < pieces[s + 1] else inst.first[j + 1]
                    k = _piece_at(inst.piece_low, low, high, begin + 1) - 1
                    least = np.inf
                    while k < high and inst.piece_low[k] < end:
                        stop = inst.piece_low[k + 1] if k + 1 < high else inst.first[j + 1]
                        if before[min(stop, end)] > before[max(inst.piece_low[k], begin)]:
                            least = min(least, theta[k])
                        k += 1
                    prices[p] = least
    return (
        slots, slot_feature[:n_slots].copy(), pieces[: n_slots + 1].copy(), piece_low[:n_pieces].copy(),
        odd_run[: n_odd + 1].copy(), odd_low[:n_runs].copy(), odd_high[:n_runs].copy(), turn, old, new,
    ), prices  # fmt: skip


@njit(cache=True, nogil=True)
def askers_of(inst):
    """The slots of each feature, with their trees."""
    features = len(inst.first) - 1
    start = np.zeros(features + 1, np.int32)
    for s in range(len(inst.slot_feature)):
        start[inst.slot_feature[s] + 1] += 1
    for j in range(features):
        start[j + 1] += start[j]
    at = start[:-1].copy()
    slot, tree = np.empty(len(inst.slot_feature), np.int32), np.empty(len(inst.slot_feature), np.int32)
    for t in range(len(inst.tree)):
        for s in range(inst.slots[t], inst.slots[t + 1]):
            j = inst.slot_feature[s]
            slot[at[j]], tree[at[j]] = s, t
            at[j] += 1
    return start, slot, tree
