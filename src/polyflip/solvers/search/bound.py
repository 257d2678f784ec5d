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

from polyflip.solvers.search.instance import askers_of

__all__ = ["alone", "ascend", "bound_at", "closed_pieces", "share_out", "support"]

MOMENTUM = 0.7
FARTHEST = 4.0  # how far (in costs to beat) a step may believe the top to be
ROUNDING = 2.0**-52  # what an addition may be off by, as a share of what is added up
PATIENCE = 12
SLOWER = 0.6
FORGET = 0.06
CHECK = 10
NOTHING = 1e-12  # what sums of leaves may differ by from rounding alone
NOWHERE = 1e30  # the price of an empty part, or of a piece that is shut
LOOK = 4  # steps from one look at the chosen point to the next


@njit(cache=True, nogil=True)
def _features(inst, theta, first, last, value, choice, slope):
    """The features' part: what each group is worth, and the cheapest of each feature's open groups."""
    slope[:] = 0.0
    for s in range(len(inst.slot_feature)):
        before = 0.0
        for p in range(inst.pieces[s], inst.pieces[s + 1]):
            slope[inst.piece_low[p]] += before - theta[p]
            before = theta[p]
        slope[inst.first[inst.slot_feature[s] + 1]] += before
    total = 0.0
    level = 0.0
    for j in range(len(first)):
        least = np.inf
        low, high = first[j], last[j]
        best = choice[j]
        for g in range(inst.first[j], inst.first[j + 1]):
            level += slope[g]
            value[g] = inst.price[g] + level
            if value[g] < least and low <= g < high:
                least = value[g]
                best = g
        choice[j] = best
        total += least
    return total


@njit(cache=True, nogil=True)
def _parts(inst, theta, shut, worth, pick):
    """The least price in each part, and the first piece that has it."""
    count = len(theta)
    for s in range(len(inst.slot_feature)):
        low, high = inst.pieces[s], inst.pieces[s + 1]
        least, best = NOWHERE, low
        for p in range(low, high):
            here = theta[p] + shut[p]
            if here < least:
                least, best = here, p
            worth[p], pick[p] = least, best
        least, best = NOWHERE, high - 1
        for p in range(high - 1, low - 1, -1):
            here = theta[p] + shut[p]
            if here <= least:
                least, best = here, p
            worth[count + p], pick[count + p] = least, best
    for k in range(len(inst.odd_run) - 1):
        least, best = NOWHERE, 0
        for run in range(inst.odd_run[k], inst.odd_run[k + 1]):
            for p in range(inst.odd_low[run], inst.odd_high[run]):
                here = theta[p] + shut[p]
                if here < least:
                    least, best = here, p
        worth[2 * count + k], pick[2 * count + k] = least, best


@njit(cache=True, nogil=True, inline="always")
def _holds(inst, part, piece):
    """Whether a part of the piece's slot holds the piece."""
    count = len(inst.piece_low)
    if part < count:
        return piece <= part
    if part < 2 * count:
        return piece >= part - count
    for run in range(inst.odd_run[part - 2 * count], inst.odd_run[part - 2 * count + 1]):
        if inst.odd_low[run] <= piece < inst.odd_high[run]:
            return True
    return False


@njit(cache=True, nogil=True)
def _leaf_worths(inst, leaves, lam, own):
    """What each leaf is worth by itself: its price, less what it gives to the rows."""
    for i in range(len(inst.leaf)):
        leaf = inst.leaf[i]
        if leaf >= 0:
            here = leaves.price[leaf]
            for row in range(len(lam)):
                here -= lam[row] * leaves.value[leaf, row]
            own[i] = here


@njit(cache=True, nogil=True)
def _trees(inst, own, worth, way, chosen):
    """The trees' part: the cheapest leaf of each tree; ``way`` is the worth of each node."""
    total = 0.0
    for t in range(len(inst.tree)):
        base = 0.0
        for s in range(inst.slots[t], inst.slots[t + 1]):
            base += worth[inst.pieces[s + 1] - 1]
        root = inst.roots[t]
        way[root] = base
        least = np.inf
        best = -1
        for i in range(root + 1, inst.roots[t + 1]):
            here = way[inst.parent[i]] + worth[inst.new[i]] - worth[inst.old[i]]
            if inst.leaf[i] >= 0:
                here += own[i]
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
def _error(inst, leaves, theta, lam):
    """By how much the rounding of its sums may have lifted a bound: little, unless multipliers are huge."""
    size = abs(inst.paid)
    for p in range(len(theta)):
        size += abs(theta[p])
    for g in range(len(inst.price)):
        size += abs(inst.price[g])
    for row in range(len(lam)):
        given = abs(leaves.least[row]) + abs(inst.got[row])
        for t in range(len(inst.tree)):
            most = 0.0
            for i in range(inst.roots[t], inst.roots[t + 1]):
                if inst.leaf[i] >= 0:
                    most = max(most, abs(leaves.value[inst.leaf[i], row]))
            given += most
        size += lam[row] * given
    return ROUNDING * (len(theta) + len(inst.price)) * size


@njit(cache=True, nogil=True)
def bound_at(inst, leaves, theta, lam, value, way):
    """The bound at given multipliers; what each group and each leaf adds to the least of its own.

    ``value[g]`` becomes by how much the bound rises if the box keeps only group g of its feature,
    ``way[i]`` by how much if the tree of leaf i must end there.
    """
    features = len(inst.first) - 1
    choice, chosen = np.zeros(features, np.int32), np.zeros(len(inst.tree), np.int32)
    slope, own = np.empty(len(inst.price) + 1), np.empty(len(inst.rule))
    worth, pick = _room_for_parts(inst)
    total = _features(inst, theta, inst.first[:-1], inst.first[1:], value, choice, slope)
    _parts(inst, theta, np.zeros(len(theta)), worth, pick)
    _leaf_worths(inst, leaves, lam, own)
    total += _trees(inst, own, worth, way, chosen)
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
    return total - _error(inst, leaves, theta, lam)


@njit(cache=True, nogil=True)
def _room_for_parts(inst):
    count = 2 * len(inst.piece_low) + len(inst.odd_run) - 1
    return np.empty(count), np.zeros(count, np.int32)


@njit(cache=True, nogil=True)
def closed_pieces(inst, j, low, high):
    """NOWHERE for the pieces without a group of feature j from ``low`` to ``high``, else nothing."""
    shut = np.zeros(len(inst.piece_low))
    for s in range(len(inst.slot_feature)):
        if inst.slot_feature[s] != j:
            continue
        for p in range(inst.pieces[s], inst.pieces[s + 1]):
            end = inst.piece_low[p + 1] if p + 1 < inst.pieces[s + 1] else inst.first[j + 1]
            if end <= low or inst.piece_low[p] >= high:
                shut[p] = NOWHERE
    return shut


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
def _follow(inst, asking, slots, choice, before, own):
    """The piece of each slot in which the choice lies, worked out anew for features that chose anew."""
    for j in range(len(choice)):
        group = choice[j]
        if group == before[j]:
            continue
        before[j] = group
        for k in range(asking[j], asking[j + 1]):
            s = slots[k]
            piece = inst.pieces[s]
            for p in range(inst.pieces[s] + 1, inst.pieces[s + 1]):
                piece += inst.piece_low[p] <= group
            own[s] = piece


@njit(cache=True, nogil=True)
def _disagree(inst, theta, worth, pick, chosen, own, part, dtheta):
    """Add to the direction where trees and features choose different pieces; returns its square.

    A tree that may choose the feature's own piece at the same price does.
    """
    square = 0.0
    for t in range(len(chosen)):
        low, high = inst.slots[t], inst.slots[t + 1]
        for s in range(low, high):
            part[s] = -1
        i = chosen[t]
        while inst.parent[i] >= 0:
            s = inst.turn[i]
            if part[s] < 0:
                part[s] = inst.new[i]
            i = inst.parent[i]
        for s in range(low, high):
            q = part[s] if part[s] >= 0 else inst.pieces[s + 1] - 1
            piece, other = own[s], pick[q]
            if piece == other or (theta[piece] == worth[q] and _holds(inst, q, piece)):
                continue
            dtheta[other] += 1.0
            dtheta[piece] -= 1.0
            square += 2.0
    return square


@njit(cache=True, nogil=True)
def ascend(
    inst,
    leaves,
    theta,
    lam,
    first,
    last,
    shut,
    target,
    enough,
    steps,
    pace,
    hope,
    best_theta,
    best_lam,
    mean,
    point,
):
    """Climb from ``theta, lam`` for at most ``steps`` steps, each as long as if ``target`` were the top.

    Features keep to the groups from ``first`` to ``last``; ``shut`` is NOWHERE for pieces without any.
    Stops where the bound reaches ``enough``, or where ``CHECK`` steps close less than the share ``hope`` of
    what is still missing.  Leaves the best multipliers in ``best_*``, the share of
    steps in which each group was chosen in ``mean``, and in ``point`` the groups of the cheapest real
    point that was met.  Returns the best bound, the price of that point,
    and the steps taken.
    """  # fmt: skip
    features, rows = len(first), len(lam)
    value, slope = np.empty(len(inst.price)), np.empty(len(inst.price) + 1)
    choice, before = np.zeros(features, np.int32), np.full(features, -1, np.int32)
    choice[:] = first
    worth, pick = _room_for_parts(inst)
    way, own_worth = np.empty(len(inst.rule)), np.empty(len(inst.rule))
    chosen = np.zeros(len(inst.tree), np.int32)
    dtheta, dlam = np.zeros(len(theta)), np.zeros(rows)
    own, part = np.empty(len(inst.slot_feature), np.int32), np.empty(len(inst.slot_feature), np.int32)
    asking, slots, _ = askers_of(inst)
    score = np.empty(rows)
    best, found = -np.inf, np.inf
    stale = 0
    reached = -np.inf
    taken = 0
    for step in range(steps):
        if step % CHECK == 0:
            if best - reached < hope * (enough - best):
                break
            reached = best
        taken += 1
        total = _features(inst, theta, first, last, value, choice, slope)
        _parts(inst, theta, shut, worth, pick)
        _leaf_worths(inst, leaves, lam, own_worth)
        total += _trees(inst, own_worth, worth, way, chosen)
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
        if step % LOOK == 0:
            cost = _real_cost(inst, leaves, choice, score)
            if cost < found:
                found = cost
                point[:] = choice
        for g in range(len(mean)):
            mean[g] *= 1.0 - FORGET
        for j in range(features):
            mean[choice[j]] += FORGET
        _follow(inst, asking, slots, choice, before, own)
        square = _disagree(inst, theta, worth, pick, chosen, own, part, dtheta)
        for row in range(rows):
            short = leaves.least[row] - inst.got[row]
            for t in range(len(chosen)):
                short -= leaves.value[inst.leaf[chosen[t]], row]
            if (lam[row] == 0.0 and short < 0.0) or abs(short) < NOTHING:
                short = 0.0
            square += short * short
            dlam[row] = short + MOMENTUM * dlam[row]
        if square == 0.0:  # the choices agree: this bound is the box's true minimum
            cost = _real_cost(inst, leaves, choice, score)
            if cost < found:
                found = cost
                point[:] = choice
            break
        missing = min(target - total, FARTHEST * max(1.0, abs(target)))  # a deep fall throws it no farther
        length = pace * (1.0 - MOMENTUM) * missing / square
        for p in range(len(theta)):
            theta[p] += length * dtheta[p]
            dtheta[p] *= MOMENTUM
        for row in range(rows):
            lam[row] = max(0.0, lam[row] + length * dlam[row])
    return best - _error(inst, leaves, best_theta, best_lam), found, taken


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
    worth, pick = _room_for_parts(inst)
    _parts(inst, theta, np.zeros(len(theta)), worth, pick)
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
    count = len(inst.piece_low)
    marked = np.zeros(count, np.bool_)
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
                s, q = inst.turn[at], inst.new[at]
                if seen[s] != i:
                    seen[s] = i
                    reached[s] += 1
                    if q < count:
                        marked[inst.pieces[s] : q + 1] = True
                    elif q < 2 * count:
                        marked[q - count : inst.pieces[s + 1]] = True
                    else:
                        for run in range(inst.odd_run[q - 2 * count], inst.odd_run[q - 2 * count + 1]):
                            marked[inst.odd_low[run] : inst.odd_high[run]] = True
                at = inst.parent[at]
        for s in range(inst.slots[t], inst.slots[t + 1]):
            if reached[s] < live:
                continue
            for p in range(inst.pieces[s], inst.pieces[s + 1]):
                if not marked[p]:
                    last = inst.first[inst.slot_feature[s] + 1]
                    end = inst.piece_low[p + 1] if p + 1 < inst.pieces[s + 1] else last
                    kept[inst.piece_low[p] : end] = False
