"""The problem inside a box, as flat arrays: only the trees, rules and cells that the box leaves undecided.

A rule that holds on all cells of the box (or on none) decides its nodes, which drop out of their
trees; so do leaves that are struck out, and turns between leaves of equal worth.  Cells that no
remaining rule tells apart become one *group*, at the price of its cheapest cell; a tree that becomes
a single leaf is added up and leaves.  What is left is a smaller problem of the same shape, so that
boxes within boxes shrink fast, and the same box has the same instance however it was reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyflip.core import Problem
from polyflip.core.ensemble import LEAF
from polyflip.core.space import Bools, Floats, Ints
from polyflip.solvers.search.slots import slots_of

__all__ = ["DEAD", "Instance", "Leaves", "askers_of", "leaves_of", "root_of", "shrink"]

DEAD = -2  # the leaf of a node where no point of interest arrives


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
    slots, prices = slots_of(trees, groups, instance, into, source, kept_before, theta)
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
