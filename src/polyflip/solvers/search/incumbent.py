"""Incumbents: real points, found among known ones, repaired, and improved one feature, or two, at a time.

A *scan* frees one feature of a point and adds up, over the trees that ask for it, how the score and the
price of leaves change at each of its groups: one pass over these trees tells all that a change of
this feature can do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from polyflip.solvers.search.instance import askers_of

__all__ = ["improve", "repair", "score_at", "worth"]

MOST_SCANS = 3000
LEAST_GAIN = 1e-12


@njit(cache=True, nogil=True, inline="always")
def _leaf_at(inst, t, point, free, group):
    """The leaf that a tree reaches at a point whose feature ``free`` is moved to a group."""
    i = inst.roots[t]
    while inst.rule[i] >= 0:
        r = inst.rule[i]
        j = inst.feature[r]
        at = (group if j == free else point[j]) - inst.first[j]
        held = False
        for run in range(inst.run_start[r], inst.run_start[r + 1]):
            if inst.run_low[run] <= at < inst.run_high[run]:
                held = True
                break
        i = i + 1 if held else inst.right[i]
    return inst.leaf[i]


@njit(cache=True, nogil=True)
def score_at(inst, leaves, point, score, now):
    """Fill in the score of a point and the leaf of each tree; returns the cost of its leaves."""
    cost = inst.paid
    score[:] = inst.got
    for t in range(len(inst.tree)):
        leaf = _leaf_at(inst, t, point, -1, 0)
        now[t] = leaf
        if leaf < 0:
            cost = np.inf
            continue
        cost += leaves.price[leaf]
        for row in range(len(score)):
            score[row] += leaves.value[leaf, row]
    return cost


@njit(cache=True, nogil=True)
def _cost_of(inst, leaves, point, score, now):
    """What a point costs, met or not; fills in its score and its leaves."""
    cost = score_at(inst, leaves, point, score, now)
    for j in range(len(point)):
        cost += inst.price[point[j]]
    return cost


@njit(cache=True, nogil=True)
def _meets(leaves, score):
    for row in range(len(score)):
        if score[row] < leaves.met[row]:
            return False
    return True


@njit(cache=True, nogil=True)
def worth(inst, leaves, point):
    """What a point (a group per feature) costs; infinite where it does not meet the requirement."""
    score, now = np.empty(len(leaves.least)), np.empty(len(inst.tree), np.int32)
    cost = _cost_of(inst, leaves, point, score, now)
    return cost if _meets(leaves, score) else np.inf


@njit(cache=True, nogil=True)
def _scan(inst, leaves, askers, point, now, j, most, cost, score):
    """How cost and score change at the groups of feature j that cost at most ``most``.

    Returns the span of these groups; between them ``cost`` and ``score`` are filled in, counted from
    the first group of the feature.
    """
    low, high = inst.first[j + 1], inst.first[j]
    for g in range(inst.first[j], inst.first[j + 1]):
        if inst.price[g] <= most:
            low, high = min(low, g), g + 1
    if low >= high:
        return 0, 0
    base = inst.first[j]
    own = inst.price[point[j]]
    for g in range(low, high):
        cost[g - base] = inst.price[g] - own
        score[g - base, :] = 0.0
    start, slots, trees = askers
    for k in range(start[j], start[j + 1]):
        s, t = slots[k], trees[k]
        held = now[t]
        for p in range(inst.pieces[s], inst.pieces[s + 1]):
            begin = max(low, inst.piece_low[p])
            end = inst.piece_low[p + 1] if p + 1 < inst.pieces[s + 1] else inst.first[j + 1]
            end = min(end, high)
            if begin >= end:
                continue
            leaf = _leaf_at(inst, t, point, j, begin)
            if leaf == held:
                continue
            if leaf < 0 or held < 0:
                cost[begin - base : end - base] = np.inf
                continue
            extra = leaves.price[leaf] - leaves.price[held]
            for row in range(score.shape[1]):
                more = leaves.value[leaf, row] - leaves.value[held, row]
                for g in range(begin - base, end - base):
                    score[g, row] += more
            if extra != 0.0:
                cost[begin - base : end - base] += extra
    return low, high


@njit(cache=True, nogil=True)
def _best_group(inst, leaves, askers, point, now, total, have, j, below, cost, score):
    """The cheapest real group of feature j with a total cost less than ``below``; -1 if none is."""
    most = np.inf
    if leaves.priced == 0:
        most = inst.price[point[j]] + below - total
    low, high = _scan(inst, leaves, askers, point, now, j, most, cost, score)
    base = inst.first[j]
    best = -1
    for g in range(low, high):
        if total + cost[g - base] >= below - LEAST_GAIN or g == point[j]:
            continue
        real = True
        for row in range(score.shape[1]):
            if have[row] + score[g - base, row] < leaves.met[row]:
                real = False
        if real:
            best, below = g, total + cost[g - base]
    return best


@njit(cache=True, nogil=True)
def _room(inst, leaves):
    widest = 1
    for j in range(len(inst.first) - 1):
        widest = max(widest, inst.first[j + 1] - inst.first[j])
    return np.empty(widest), np.empty((widest, len(leaves.least)))


@njit(cache=True, nogil=True)
def improve(inst, leaves, point, cost):
    """Make a real point cheaper by changing one feature, or two; returns its cost.

    A pair takes one feature back to its cheapest group, and looks for another that pays for it.
    """
    features = len(point)
    costs, scores = _room(inst, leaves)
    askers = askers_of(inst)
    have, now = np.empty(len(leaves.least)), np.empty(len(inst.tree), np.int32)
    total = _cost_of(inst, leaves, point, have, now)
    scans = 0
    better = True
    while better and scans < MOST_SCANS:
        better = False
        for j in range(features):
            if inst.first[j + 1] - inst.first[j] < 2:
                continue
            group = _best_group(inst, leaves, askers, point, now, total, have, j, total, costs, scores)
            scans += 1
            if group >= 0:
                held, point[j] = point[j], group
                total = _cost_of(inst, leaves, point, have, now)
                if total >= cost or not _meets(leaves, have):  # the last bit of a sum says otherwise
                    point[j] = held
                    return cost
                cost, better = total, True
        if better:
            continue
        for j in range(features):
            held = point[j]
            cheap = inst.first[j] + np.argmin(inst.price[inst.first[j] : inst.first[j + 1]])
            if held == cheap or better:
                continue
            point[j] = cheap
            total = _cost_of(inst, leaves, point, have, now)
            for other in range(features if total < np.inf else 0):
                if other == j or inst.first[other + 1] - inst.first[other] < 2 or scans >= MOST_SCANS:
                    continue
                group = _best_group(inst, leaves, askers, point, now, total, have, other, cost, costs, scores)
                scans += 1
                if group >= 0:
                    before, point[other] = point[other], group
                    after = _cost_of(inst, leaves, point, have, now)
                    if after < cost and _meets(leaves, have):
                        cost, better = after, True
                        break
                    point[other] = before
                    total = _cost_of(inst, leaves, point, have, now)
            if not better:
                point[j] = held
        total = _cost_of(inst, leaves, point, have, now)
    return cost


@njit(cache=True, nogil=True)
def repair(inst, leaves, point, below):
    """Change features of a point, those first that give most of what it lacks for their price.

    Returns the cost of the real point that comes out, if it is less than ``below``, else infinity.
    """
    features, rows = len(point), len(leaves.least)
    costs, scores = _room(inst, leaves)
    askers = askers_of(inst)
    have, now = np.empty(rows), np.empty(len(inst.tree), np.int32)
    total = _cost_of(inst, leaves, point, have, now)
    for _ in range(2 * features):
        if not total < below:
            return np.inf
        if _meets(leaves, have):
            return total
        best, top, move = 0.0, -1, -1
        for j in range(features):
            if inst.first[j + 1] - inst.first[j] < 2:
                continue
            most = inst.price[point[j]] + below - total if leaves.priced == 0 else np.inf
            low, high = _scan(inst, leaves, askers, point, now, j, most, costs, scores)
            for g in range(low, high):
                at = g - inst.first[j]
                if total + costs[at] >= below:
                    continue
                gain = 0.0
                for row in range(rows):
                    short = leaves.met[row] - have[row]
                    gain += min(scores[at, row], short) if short > 0 else min(0.0, scores[at, row] - short)
                if gain > 1e-12:
                    rate = gain / max(costs[at], 1e-9)
                    if rate > best:
                        best, top, move = rate, j, g
        if top < 0:
            return np.inf
        point[top] = move
        total = _cost_of(inst, leaves, point, have, now)
    return np.inf
