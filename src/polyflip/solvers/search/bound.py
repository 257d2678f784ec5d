"""The bound: a Lagrangian in which every tree owns its view of every feature it asks for.

Give every piece p of every slot a price ``theta`` of any sign, and every row of the requirement a
multiplier ``lam`` >= 0.  Then

    L = paid + sum of lam * (least - got)
      + sum over trees of the least over leaves of
            (price - lam * value + sum over the tree's slots of the least theta in the leaf's part)
      + sum over features of the least over groups of
            (price - sum over slots of the feature of theta at the group's piece)

is a lower bound on the cost of every point of the box: at a real point the thetas cancel.  Its
maximum is the value of a linear relaxation in which each tree's leaves agree with every feature's
marginal, interval by interval; it lies above that of the tight program, whose rows only speak of one
node at a time.  One evaluation is linear in nodes and pieces.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["alone", "ascend", "bound_at", "share_out", "support"]

MOMENTUM = 0.7
PATIENCE = 12
SLOWER = 0.6
FORGET = 0.06
CHECK = 10
NOWHERE = 1e30  # the price of an empty part
FAR = 1e29  # more than any real price


@njit(cache=True, nogil=True)
def _features(inst, theta, value, choice, slope):
    """The features' part: what each group is worth, and the cheapest group of each feature."""
    features = len(inst.first) - 1
    slope[:] = 0.0
    for s in range(len(inst.slot_feature)):
        last = 0.0
        for p in range(inst.pieces[s], inst.pieces[s + 1]):
            slope[inst.piece_low[p]] += last - theta[p]
            last = theta[p]
        slope[inst.first[inst.slot_feature[s] + 1]] += last
    total = 0.0
    level = 0.0
    for j in range(features):
        least = np.inf
        for g in range(inst.first[j], inst.first[j + 1]):
            level += slope[g]
            value[g] = inst.price[g] + level
            if value[g] < least:
                least = value[g]
                choice[j] = g
        total += least
    return total


@njit(cache=True, nogil=True)
def _parts(inst, theta, ends, worth):
    """The least price in each part; most parts begin or end with their slot, and share what they need."""
    count = len(theta)
    for s in range(len(inst.slot_feature)):
        low, high = inst.pieces[s], inst.pieces[s + 1]
        least = NOWHERE
        for p in range(low, high):
            least = min(least, theta[p])
            ends[p] = least
        least = NOWHERE
        for p in range(high - 1, low - 1, -1):
            least = min(least, theta[p])
            ends[count + p] = least
    for q in range(len(inst.part_end)):
        at = inst.part_end[q]
        if at >= 0:
            worth[q] = ends[at]
            continue
        least = NOWHERE
        for k in range(inst.part_run[q], inst.part_run[q + 1]):
            for p in range(inst.part_low[k], inst.part_high[k]):
                least = min(least, theta[p])
        worth[q] = least


@njit(cache=True, nogil=True)
def _pick(part_run, part_low, part_high, theta, q, least, own):
    """The piece of a part that has its least price: ``own`` where it is one of them."""
    first = -1
    for k in range(part_run[q], part_run[q + 1]):
        low, high = part_low[k], part_high[k]
        if low <= own < high and theta[own] == least:
            return own
        for p in range(low, high if first < 0 else low):
            if theta[p] == least:
                first = p
                break
    return first


@njit(cache=True, nogil=True)
def _trees(inst, leaves, lam, worth, way, chosen):
    """The trees' part: the cheapest leaf of each tree; ``way`` is the worth of each node."""
    total = 0.0
    rows = len(lam)
    for t in range(len(inst.tree)):
        base = 0.0
        for q in range(inst.parts[t], inst.parts[t] + inst.slots[t + 1] - inst.slots[t]):
            base += worth[q]
        root = inst.roots[t]
        way[root] = base
        least = np.inf
        best = -1
        for i in range(root + 1, inst.roots[t + 1]):
            here = way[inst.parent[i]] + worth[inst.new[i]] - worth[inst.old[i]]
            leaf = inst.leaf[i]
            if leaf >= 0:
                here += leaves.price[leaf]
                for row in range(rows):
                    here -= lam[row] * leaves.value[leaf, row]
                if here < least:
                    least = here
                    best = i
            way[i] = here
        if best < 0:
            return np.inf
        chosen[t] = best
        total += least
    return total


@njit(cache=True, nogil=True)
def _constant(inst, leaves, lam):
    total = inst.paid
    for row in range(len(lam)):
        total += lam[row] * (leaves.least[row] - inst.got[row])
    return total


@njit(cache=True, nogil=True)
def bound_at(inst, leaves, theta, lam, value, way):
    """The bound at given multipliers; what each group and each leaf adds to the least of its own.

    ``value[g]`` becomes by how much the bound rises if the box keeps only group g of its feature,
    ``way[i]`` by how much if the tree of leaf i must end there.
    """
    features = len(inst.first) - 1
    choice = np.zeros(features, np.int32)
    slope = np.empty(len(inst.price) + 1)
    ends, worth = np.empty(2 * len(inst.piece_low)), np.empty(len(inst.part_slot))
    chosen = np.zeros(len(inst.tree), np.int32)
    total = _features(inst, theta, value, choice, slope)
    _parts(inst, theta, ends, worth)
    total += _trees(inst, leaves, lam, worth, way, chosen)
    total += _constant(inst, leaves, lam)
    for j in range(features):
        least = value[choice[j]]
        for g in range(inst.first[j], inst.first[j + 1]):
            value[g] -= least
    if total < np.inf:
        for t in range(len(inst.tree)):
            least = way[chosen[t]]
            for i in range(inst.roots[t], inst.roots[t + 1]):
                way[i] -= least
    return total


@njit(cache=True, nogil=True)
def share_out(inst, theta):
    """First prices: what a feature's groups cost, shared among the trees that ask for it."""
    features = len(inst.first) - 1
    asked = np.zeros(features)
    for s in range(len(inst.slot_feature)):
        asked[inst.slot_feature[s]] += 1.0
    for s in range(len(inst.slot_feature)):
        j = inst.slot_feature[s]
        for p in range(inst.pieces[s], inst.pieces[s + 1]):
            end = inst.piece_low[p + 1] if p + 1 < inst.pieces[s + 1] else inst.first[j + 1]
            least = np.inf
            for g in range(inst.piece_low[p], end):
                least = min(least, inst.price[g])
            theta[p] = least / asked[j]


@njit(cache=True, nogil=True)
def _real_cost(inst, leaves, choice, score):
    """What the chosen point really costs; infinite where it does not meet the requirement."""
    cost = inst.paid
    for j in range(len(choice)):
        cost += inst.price[choice[j]]
    score[:] = inst.got
    for t in range(len(inst.tree)):
        i = inst.roots[t]
        while inst.rule[i] >= 0:
            r = inst.rule[i]
            at = choice[inst.feature[r]] - inst.first[inst.feature[r]]
            held = False
            for run in range(inst.run_start[r], inst.run_start[r + 1]):
                if inst.run_low[run] <= at < inst.run_high[run]:
                    held = True
                    break
            i = i + 1 if held else inst.right[i]
        leaf = inst.leaf[i]
        if leaf < 0:
            return np.inf
        cost += leaves.price[leaf]
        for row in range(len(score)):
            score[row] += leaves.value[leaf, row]
    for row in range(len(score)):
        if score[row] < leaves.met[row]:
            return np.inf
    return cost


@njit(cache=True, nogil=True)
def ascend(inst, leaves, theta, lam, target, enough, steps, pace, hope, best_theta, best_lam, mean, point):
    """Climb from ``theta, lam`` for at most ``steps`` steps, each as long as if ``target`` were the top.

    Stops where the bound reaches ``enough``, or where ``CHECK`` steps close less than the share ``hope`` of
    what is still missing.  Leaves the best multipliers in ``best_*``, the share of
    steps in which each group was chosen in ``mean``, and in ``point`` the groups of the cheapest real
    point that was met.  Returns the best bound, the price of that point,
    and the steps taken.
    """
    features, rows = len(inst.first) - 1, len(lam)
    value, choice = np.empty(len(inst.price)), np.zeros(features, np.int32)
    slope = np.empty(len(inst.price) + 1)
    ends, worth = np.empty(2 * len(inst.piece_low)), np.empty(len(inst.part_slot))
    way, chosen = np.empty(len(inst.rule)), np.zeros(len(inst.tree), np.int32)
    dtheta, dlam = np.zeros(len(theta)), np.zeros(rows)
    final = np.empty(len(inst.slot_feature), np.int32)
    score = np.empty(rows)
    best, found = -np.inf, np.inf
    stale = 0
    before = -np.inf
    taken = 0
    for step in range(steps):
        if step % CHECK == 0:
            if best - before < hope * (enough - best):
                break
            before = best
        taken += 1
        total = _features(inst, theta, value, choice, slope)
        _parts(inst, theta, ends, worth)
        total += _trees(inst, leaves, lam, worth, way, chosen)
        total += _constant(inst, leaves, lam)
        if total > best:
            stale = stale if total < best + 1e-4 * abs(best) else 0
            best = total
            best_theta[:], best_lam[:] = theta, lam
            if best >= enough:
                break
        stale += 1
        if stale > PATIENCE:
            stale = 0
            pace *= SLOWER
            if pace < 1e-3:
                break
        cost = _real_cost(inst, leaves, choice, score)
        if cost < found:
            found = cost
            point[:] = choice
        for g in range(len(mean)):
            mean[g] *= 1.0 - FORGET
        for j in range(features):
            mean[choice[j]] += FORGET
        for p in range(len(dtheta)):
            dtheta[p] *= MOMENTUM
        square = 0.0
        for t in range(len(chosen)):
            low = inst.slots[t]
            whole = inst.parts[t]
            for s in range(low, inst.slots[t + 1]):
                final[s] = whole + s - low
            i = chosen[t]
            while inst.parent[i] >= 0:
                s = inst.part_slot[inst.new[i]]
                if final[s] == whole + s - low:
                    final[s] = inst.new[i]
                i = inst.parent[i]
            for s in range(low, inst.slots[t + 1]):
                q = final[s]
                group = choice[inst.slot_feature[s]]
                own = inst.pieces[s]
                while own + 1 < inst.pieces[s + 1] and inst.piece_low[own + 1] <= group:
                    own += 1
                other = _pick(inst.part_run, inst.part_low, inst.part_high, theta, q, worth[q], own)
                if other == own:
                    continue
                dtheta[other] += 1.0
                dtheta[own] -= 1.0
                square += 2.0
        for row in range(rows):
            short = leaves.least[row] - inst.got[row]
            for t in range(len(chosen)):
                short -= leaves.value[inst.leaf[chosen[t]], row]
            if lam[row] == 0.0 and short < 0.0:
                short = 0.0
            square += short * short
            dlam[row] = short + MOMENTUM * dlam[row]
        if square == 0.0:  # the choices agree: this bound is the box's true minimum
            break
        length = pace * (1.0 - MOMENTUM) * (target - total) / square
        for p in range(len(theta)):
            theta[p] += length * dtheta[p]
        for row in range(rows):
            lam[row] = max(0.0, lam[row] + length * dlam[row])
    return best, found, taken


@njit(cache=True, nogil=True)
def alone(inst, leaves, way):
    """What a point that ends in a leaf costs at the least, by the prices of its features alone.

    Leaves in ``way`` by how much each leaf exceeds the box's least cost; returns that least cost.
    """
    least = np.empty(len(inst.first) - 1)
    total = inst.paid
    for j in range(len(least)):
        least[j] = inst.price[inst.first[j] : inst.first[j + 1]].min()
        total += least[j]
    theta = np.empty(len(inst.piece_low))
    for s in range(len(inst.slot_feature)):
        j = inst.slot_feature[s]
        for p in range(inst.pieces[s], inst.pieces[s + 1]):
            end = inst.piece_low[p + 1] if p + 1 < inst.pieces[s + 1] else inst.first[j + 1]
            theta[p] = inst.price[inst.piece_low[p] : end].min() - least[j]
    ends, worth = np.empty(2 * len(inst.piece_low)), np.empty(len(inst.part_slot))
    _parts(inst, theta, ends, worth)
    for t in range(len(inst.tree)):
        root = inst.roots[t]
        way[root] = 0.0
        free = np.inf
        for i in range(root + 1, inst.roots[t + 1]):
            way[i] = way[inst.parent[i]] + worth[inst.new[i]] - worth[inst.old[i]]
            if inst.leaf[i] >= 0:
                free = min(free, leaves.price[inst.leaf[i]])
        total += free
        for i in range(root, inst.roots[t + 1]):
            if inst.leaf[i] >= 0:
                way[i] += leaves.price[inst.leaf[i]] - free
    return total


@njit(cache=True, nogil=True)
def support(inst, dead, kept):
    """Strike out the groups at which some tree has no leaf left."""
    marked = np.zeros(len(inst.piece_low), np.bool_)
    reached = np.zeros(len(inst.slot_feature), np.int32)
    seen = np.full(len(inst.slot_feature), -1, np.int32)
    for t in range(len(inst.tree)):
        live = 0
        for i in range(inst.roots[t], inst.roots[t + 1]):
            if inst.leaf[i] < 0 or dead[i]:
                continue
            live += 1
            at = i
            while inst.parent[at] >= 0:
                q = inst.new[at]
                s = inst.part_slot[q]
                if seen[s] != i:
                    seen[s] = i
                    reached[s] += 1
                    for k in range(inst.part_run[q], inst.part_run[q + 1]):
                        marked[inst.part_low[k] : inst.part_high[k]] = True
                at = inst.parent[at]
        for s in range(inst.slots[t], inst.slots[t + 1]):
            if reached[s] < live:
                continue
            for p in range(inst.pieces[s], inst.pieces[s + 1]):
                if not marked[p]:
                    last = inst.first[inst.slot_feature[s] + 1]
                    end = inst.piece_low[p + 1] if p + 1 < inst.pieces[s + 1] else last
                    kept[inst.piece_low[p] : end] = False
