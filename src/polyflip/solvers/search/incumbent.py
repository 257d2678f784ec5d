"""Incumbents: real points, found among known ones and improved one feature, or two, at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["improve", "worth"]

MOST_TRIALS = 60_000


@njit(cache=True, nogil=True)
def worth(inst, leaves, point):
    """What a point (a group per feature) costs; infinite where it does not meet the requirement."""
    cost = 0.0
    for j in range(len(point)):
        cost += inst.price[point[j]]
    rows = len(leaves.least)
    score = np.zeros(rows)
    for t in range(len(inst.roots) - 1):
        i = inst.roots[t]
        while inst.rule[i] >= 0:
            r = inst.rule[i]
            j = inst.feature[r]
            at = point[j] - inst.first[j]
            held = False
            for run in range(inst.run_start[r], inst.run_start[r + 1]):
                if inst.run_low[run] <= at < inst.run_high[run]:
                    held = True
            i = i + 1 if held else inst.right[i]
        cost += leaves.price[inst.leaf[i]]
        for row in range(rows):
            score[row] += leaves.value[inst.leaf[i], row]
    for row in range(rows):
        if score[row] < leaves.met[row]:
            return np.inf
    return cost


@njit(cache=True, nogil=True)
def _cheapest_first(inst):
    """The groups of each feature in order of their price."""
    order = np.empty(len(inst.price), np.int32)
    for j in range(len(inst.first) - 1):
        low, high = inst.first[j], inst.first[j + 1]
        order[low:high] = low + np.argsort(inst.price[low:high], kind="mergesort").astype(np.int32)
    return order


@njit(cache=True, nogil=True)
def improve(inst, leaves, point, cost):
    """Make a real point cheaper by changing one feature, or two; returns its cost.

    Where only the features have prices, groups are tried from the cheapest on and the first real one is
    the best; where leaves have prices every group is tried.
    """
    features = len(point)
    order = _cheapest_first(inst)
    leaf_prices = False
    for leaf in range(len(leaves.price)):
        if leaves.price[leaf] != 0.0 and leaves.price[leaf] != np.inf:
            leaf_prices = True
            break
    trials = 0
    better = True
    while better and trials < MOST_TRIALS:
        better = False
        for j in range(features):
            held = point[j]
            best = held
            for k in range(inst.first[j], inst.first[j + 1]):
                g = order[k]
                if g == held:
                    if leaf_prices:
                        continue
                    break
                point[j] = g
                now = worth(inst, leaves, point)
                trials += 1
                if now < cost - 1e-12:
                    cost, best, better = now, g, True
                    if not leaf_prices:
                        break
            point[j] = best
        if better or leaf_prices:
            continue
        # take one change back altogether, and pay for it with another feature
        for j in range(features):
            held = point[j]
            cheap = order[inst.first[j]]
            saved = inst.price[held] - inst.price[cheap]
            if saved <= 1e-12:
                continue
            point[j] = cheap
            won = False
            for other in range(features):
                if other == j or trials >= MOST_TRIALS:
                    continue
                before = point[other]
                for k in range(inst.first[other], inst.first[other + 1]):
                    g = order[k]
                    if inst.price[g] >= inst.price[before] + saved - 1e-12:
                        break
                    if g == before:
                        continue
                    point[other] = g
                    now = worth(inst, leaves, point)
                    trials += 1
                    if now < cost - 1e-12:
                        cost, won = now, True
                        break
                if won:
                    break
                point[other] = before
            if won:
                better = True
                break
            point[j] = held
    return cost
