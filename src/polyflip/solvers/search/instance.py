"""The problem inside a box, as flat arrays: only the nodes, rules and cells that the box leaves undecided.

A rule that holds on all cells of the box (or on none) decides its nodes, which drop out of their
trees.  Cells that no remaining rule tells apart become one *group*, at the price of its cheapest
cell.  What is left is a smaller problem of the same shape, so that boxes within boxes shrink fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyflip.core import Problem
from polyflip.core.ensemble import LEAF
from polyflip.core.space import Bools, Floats, Ints

__all__ = ["Instance", "Leaves", "leaves_of", "root_of", "shrink"]


class Instance(NamedTuple):
    """Trees over groups of cells.  Nodes stand in preorder, so that a left child follows its parent.

    ``node`` and ``rule_id`` say which node and rule of the ensemble each one is, ``cell`` which cell a
    group is shown as.  Runs count groups from the first of their feature.
    """

    roots: Ints
    rule: Ints
    right: Ints
    parent: Ints
    side: Ints
    leaf: Ints
    node: Ints
    rule_id: Ints
    feature: Ints
    run_start: Ints
    run_low: Ints
    run_high: Ints
    first: Ints
    price: Floats
    tie: Floats
    cell: Ints

    @property
    def decided(self) -> bool:
        """Whether no rule is left: every tree is a single leaf."""
        return len(self.feature) == 0


class Leaves(NamedTuple):
    """What a leaf is worth: one value per row of the requirement, and its own price.

    A forbidden leaf has an infinite price.  ``least`` is what each row must reach, ``met`` what a sum
    of doubles that reaches it cannot fall under.
    """

    value: Floats
    price: Floats
    least: Floats
    met: Floats


def leaves_of(problem: Problem, weights: Floats | None = None) -> Leaves:
    """The leaves of a problem; with ``weights`` those of the question for the highest score.

    Rows are scaled so that a step moves their multipliers about as far as the nodes' prices.
    """
    ensemble = problem.ensemble
    rows = problem.inequalities if weights is None else []
    price = np.zeros(ensemble.leaves) if weights is None else -(ensemble.values @ weights)
    price = np.where(ensemble.forbidden, np.inf, price)
    value = np.zeros((ensemble.leaves, len(rows)))
    least, met = np.zeros(len(rows)), np.zeros(len(rows))
    for i, row in enumerate(rows):
        high, low = np.full(ensemble.trees, -np.inf), np.full(ensemble.trees, np.inf)
        np.maximum.at(high, ensemble.tree_of_leaf, row.leaf)
        np.minimum.at(low, ensemble.tree_of_leaf, row.leaf)
        size = float(np.sqrt(np.sum((high - low) ** 2)))
        scale = 2.0 / size if size > 0 else 1.0
        value[:, i], least[i] = row.leaf * scale, row.at_least * scale
        met[i] = (row.at_least - (0.5 if row.whole else row.slack)) * scale
        least[i] = least[i] if row.whole else met[i]
    return Leaves(value, price, least, met)


def root_of(problem: Problem, price: tuple[Floats, ...], tie: tuple[Floats, ...]) -> tuple[Instance, Ints]:
    """The instance of a problem's domain at given prices, and into which group each cell went."""
    return shrink(_whole(problem, price, tie), np.concatenate(problem.domain.allowed))


def _whole(problem: Problem, price: tuple[Floats, ...], tie: tuple[Floats, ...]) -> Instance:
    """The instance of the whole space: every node, every rule, a group per cell."""
    ensemble, rules = problem.ensemble, problem.ensemble.rules
    inner = np.flatnonzero(ensemble.rule != LEAF)
    parent = np.full(len(ensemble.rule), -1)
    side = np.zeros(len(ensemble.rule))
    parent[ensemble.left[inner]] = inner
    parent[ensemble.right[inner]] = inner
    side[ensemble.right[inner]] = 1
    sizes = problem.space.sizes

    def flat(values: object) -> Ints:
        return np.ascontiguousarray(values, dtype=np.int32)

    return Instance(
        roots=flat(np.append(ensemble.roots, len(ensemble.rule))),
        rule=flat(ensemble.rule),
        right=flat(ensemble.right),
        parent=flat(parent),
        side=flat(side),
        leaf=flat(ensemble.leaf),
        node=flat(np.arange(len(ensemble.rule))),
        rule_id=flat(np.arange(rules.count)),
        feature=flat(rules.feature),
        run_start=flat(rules.start),
        run_low=flat(rules.low),
        run_high=flat(rules.high),
        first=flat(np.concatenate([[0], np.cumsum(sizes)])),
        price=np.concatenate(price).astype(np.float64),
        tie=np.concatenate(tie).astype(np.float64),
        cell=flat(np.concatenate([np.arange(size) for size in sizes])),
    )


def shrink(instance: Instance, kept: Bools) -> tuple[Instance, Ints]:
    """The instance of a box, and into which of its groups each group went (-1: struck out).

    Of every feature at least one group must be ``kept``.
    """
    *parts, into = _shrink(instance, kept)
    return Instance(*parts), into


@njit(cache=True, nogil=True)
def _rule_states(inst, kept):
    """Per rule: 0 where it holds in no kept group of its feature, 2 where in all, 1 otherwise."""
    before = np.zeros(len(kept) + 1, np.int32)
    for g in range(len(kept)):
        before[g + 1] = before[g] + kept[g]
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
    cell = np.empty(total, np.int32)
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
    return place, first, price[:count].copy(), tie[:count].copy(), cell[:count].copy(), into


@njit(cache=True, nogil=True)
def _shrink(inst, kept):
    state = _rule_states(inst, kept)
    n, trees = len(inst.rule), len(inst.roots) - 1
    roots = np.empty(trees + 1, np.int32)
    source = np.empty(n, np.int32)
    right, parent = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    side = np.zeros(n, np.int32)
    used = np.zeros(len(inst.feature), np.bool_)
    stack_node, stack_parent = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    stack_side = np.empty(n + 1, np.int32)
    count = 0
    for t in range(trees):
        roots[t] = count
        stack_node[0], stack_parent[0], stack_side[0] = inst.roots[t], -1, 0
        top = 1
        while top:
            top -= 1
            i, above, turn = stack_node[top], stack_parent[top], stack_side[top]
            while inst.rule[i] >= 0 and state[inst.rule[i]] != 1:
                i = i + 1 if state[inst.rule[i]] == 2 else inst.right[i]
            source[count], parent[count], side[count] = i, above, turn
            if turn == 1:
                right[above] = count
            if inst.rule[i] >= 0:
                used[inst.rule[i]] = True
                stack_node[top], stack_parent[top], stack_side[top] = inst.right[i], count, 1
                stack_node[top + 1], stack_parent[top + 1], stack_side[top + 1] = i + 1, count, 0
                top += 2
            count += 1
    roots[trees] = count
    place, first, price, tie, cell, into = _grouped(inst, kept, used)
    number = np.full(len(used), -1, np.int32)
    rules = 0
    runs = 0
    for r in range(len(used)):
        if used[r]:
            number[r] = rules
            rules += 1
            runs += inst.run_start[r + 1] - inst.run_start[r]
    rule_id, feature = np.empty(rules, np.int32), np.empty(rules, np.int32)
    run_start = np.zeros(rules + 1, np.int32)
    run_low, run_high = np.empty(runs, np.int32), np.empty(runs, np.int32)
    runs = 0
    for r in range(len(used)):
        if used[r]:
            k, j = number[r], inst.feature[r]
            rule_id[k], feature[k] = inst.rule_id[r], j
            for run in range(inst.run_start[r], inst.run_start[r + 1]):
                run_low[runs] = place[inst.first[j] + j + inst.run_low[run]]
                run_high[runs] = place[inst.first[j] + j + inst.run_high[run]]
                runs += 1
            run_start[k + 1] = runs
    rule, leaf, node = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    for i in range(count):
        r = inst.rule[source[i]]
        rule[i] = number[r] if r >= 0 else -1
        leaf[i], node[i] = inst.leaf[source[i]], inst.node[source[i]]
    return (
        roots, rule, right[:count].copy(), parent[:count].copy(), side[:count].copy(), leaf, node,
        rule_id, feature, run_start, run_low, run_high, first, price, tie, cell, into,
    )  # fmt: skip
