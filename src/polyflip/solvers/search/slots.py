"""Slots: how a tree sees the features it asks for, in pieces that it cannot tell apart any further.

A *slot* is a feature that a tree asks for.  It cuts the feature's groups into *pieces*, which the tree
cannot tell apart any further.  A *part* of a slot is the set of pieces that is left at a node: the
whole slot at the root, less with every turn on the way down.  Most parts begin with their slot, or end
with it.  A part has a number: its last piece where it begins with its slot; its first piece, counted
behind all pieces, where it ends with it; behind these come the *odd* parts, which have a list of runs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["slots_of"]

ENDING, ODD = 1 << 28, 1 << 29  # while slots are built: where the numbers of parts of these kinds begin


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
def slots_of(trees, groups, inst, into, came, before, theta):
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
