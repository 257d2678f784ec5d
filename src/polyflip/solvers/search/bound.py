"""The bound: a Lagrangian of the tight program, maximised by subgradient steps.

Every inner node has two prices, ``a`` for being left and ``b`` for being right, every row of the
requirement a multiplier ``lam``, all of them at least zero.  Then

    L = sum of lam * least
      + sum over trees of the least over leaves of
            (price - lam * value + a on left turns + b on right turns)
      + sum over features of the least over groups of
            (price - a of the nodes whose rule holds - b of those whose rule fails)

is a lower bound on the cost of every point of the box, for any multipliers; its maximum is the value
of the tight program's linear relaxation.  One evaluation is linear in the nodes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["ascend"]

MOMENTUM = 0.7
PATIENCE = 12
SLOWER = 0.6
FORGET = 0.06


@njit(cache=True, nogil=True)
def _features(inst, a, b, turn, value, choice, base, slope):
    """The features' part: what each group is worth, and the cheapest group of each feature."""
    features = len(inst.first) - 1
    slope[:] = 0.0
    base[:] = 0.0
    turn[:] = 0.0
    for i in range(len(inst.rule)):
        r = inst.rule[i]
        if r >= 0:
            turn[r] += a[i] - b[i]
            base[inst.feature[r]] += b[i]
    for r in range(len(inst.feature)):
        j = inst.feature[r]
        at = inst.first[j] + j
        for run in range(inst.run_start[r], inst.run_start[r + 1]):
            slope[at + inst.run_low[run]] -= turn[r]
            slope[at + inst.run_high[run]] += turn[r]
    total = 0.0
    for j in range(features):
        level = -base[j]
        least = np.inf
        for g in range(inst.first[j], inst.first[j + 1]):
            level += slope[g + j]
            value[g] = inst.price[g] + level
            if value[g] < least:
                least = value[g]
                choice[j] = g
        total += least
    return total


@njit(cache=True, nogil=True)
def _trees(inst, leaves, a, b, lam, way, chosen):
    """The trees' part: the cheapest leaf of each tree under the prices of its turns."""
    total = 0.0
    rows = len(lam)
    for t in range(len(inst.roots) - 1):
        least = np.inf
        best = -1
        way[inst.roots[t]] = 0.0
        for i in range(inst.roots[t], inst.roots[t + 1]):
            if inst.rule[i] >= 0:
                way[i + 1] = way[i] + a[i]
                way[inst.right[i]] = way[i] + b[i]
            else:
                leaf = inst.leaf[i]
                worth = way[i] + leaves.price[leaf]
                for row in range(rows):
                    worth -= lam[row] * leaves.value[leaf, row]
                if worth < least:
                    least = worth
                    best = i
        if best < 0:
            return np.inf
        chosen[t] = best
        total += least
    return total


@njit(cache=True, nogil=True)
def _holds(inst, choice, held):
    """Which rules hold at the chosen groups."""
    for r in range(len(inst.feature)):
        j = inst.feature[r]
        at = choice[j] - inst.first[j]
        held[r] = False
        for run in range(inst.run_start[r], inst.run_start[r + 1]):
            if inst.run_low[run] <= at < inst.run_high[run]:
                held[r] = True


@njit(cache=True, nogil=True)
def _real_cost(inst, leaves, choice, held, score):
    """What the chosen point really costs; infinite where it does not meet the requirement."""
    cost = 0.0
    for j in range(len(choice)):
        cost += inst.price[choice[j]]
    score[:] = 0.0
    for t in range(len(inst.roots) - 1):
        i = inst.roots[t]
        while inst.rule[i] >= 0:
            i = i + 1 if held[inst.rule[i]] else inst.right[i]
        leaf = inst.leaf[i]
        cost += leaves.price[leaf]
        for row in range(len(score)):
            score[row] += leaves.value[leaf, row]
    for row in range(len(score)):
        if score[row] < leaves.met[row]:
            return np.inf
    return cost


@njit(cache=True, nogil=True)
def ascend(
    inst, leaves, a, b, lam, target, enough, steps, theta, best_a, best_b, best_lam, mean, best_value, point
):
    """Climb from ``a, b, lam`` for at most ``steps`` steps, each as long as if ``target`` were the top.

    Stops where the bound reaches ``enough``.  Leaves the best multipliers in ``best_*``, the share of
    steps in which each group was chosen in ``mean``, what each group is worth at the best multipliers
    in ``best_value``, and in ``point`` the groups of the cheapest real point that was met.  Returns the
    best bound and the price of that point.
    """
    n, features, rows = len(inst.rule), len(inst.first) - 1, len(lam)
    turn, held = np.empty(len(inst.feature)), np.empty(len(inst.feature), np.bool_)
    value, choice = np.empty(len(inst.price)), np.zeros(features, np.int32)
    base, slope = np.empty(features), np.empty(len(inst.price) + features)
    way, chosen = np.empty(n), np.zeros(len(inst.roots) - 1, np.int32)
    da, db, dlam = np.zeros(n), np.zeros(n), np.zeros(rows)
    taken = np.zeros(n, np.int8)
    score = np.empty(rows)
    best, found = -np.inf, np.inf
    stale = 0
    for _ in range(steps):
        total = _features(inst, a, b, turn, value, choice, base, slope)
        total += _trees(inst, leaves, a, b, lam, way, chosen)
        for row in range(rows):
            total += lam[row] * leaves.least[row]
        if total > best:
            stale = stale if total < best + 1e-4 * abs(best) else 0
            best = total
            best_a[:], best_b[:], best_lam[:] = a, b, lam
            best_value[:] = value
            if best >= enough:
                break
        stale += 1
        if stale > PATIENCE:
            stale = 0
            theta *= SLOWER
            if theta < 1e-3:
                break
        _holds(inst, choice, held)
        cost = _real_cost(inst, leaves, choice, held, score)
        if cost < found:
            found = cost
            point[:] = choice
        for g in range(len(mean)):
            mean[g] *= 1.0 - FORGET
        for j in range(features):
            mean[choice[j]] += FORGET
        # the subgradient, projected: a price of zero does not fall
        for t in range(len(chosen)):
            i = chosen[t]
            while inst.parent[i] >= 0:
                taken[inst.parent[i]] = 1 + inst.side[i]
                i = inst.parent[i]
        square = 0.0
        for i in range(n):
            r = inst.rule[i]
            if r < 0:
                continue
            ga = (1.0 if taken[i] == 1 else 0.0) - (1.0 if held[r] else 0.0)
            gb = (1.0 if taken[i] == 2 else 0.0) - (0.0 if held[r] else 1.0)
            taken[i] = 0
            if a[i] == 0.0 and ga < 0.0:
                ga = 0.0
            if b[i] == 0.0 and gb < 0.0:
                gb = 0.0
            square += ga * ga + gb * gb
            da[i] = ga + MOMENTUM * da[i]
            db[i] = gb + MOMENTUM * db[i]
        for row in range(rows):
            short = leaves.least[row]
            for t in range(len(chosen)):
                short -= leaves.value[inst.leaf[chosen[t]], row]
            if lam[row] == 0.0 and short < 0.0:
                short = 0.0
            square += short * short
            dlam[row] = short + MOMENTUM * dlam[row]
        if square == 0.0:  # the choices agree: this bound is the box's true minimum
            break
        length = theta * (1.0 - MOMENTUM) * (target - total) / square
        for i in range(n):
            if inst.rule[i] >= 0:
                a[i] = max(0.0, a[i] + length * da[i])
                b[i] = max(0.0, b[i] + length * db[i])
        for row in range(rows):
            lam[row] = max(0.0, lam[row] + length * dlam[row])
    return best, found
