"""Branching: which feature to split and where, judged by a few steps of the bound on both sides."""

from __future__ import annotations

import numpy as np
from numba import njit

from polyflip.core.space import Floats, Ints

__all__ = ["History", "candidates"]

NEAR = 0.25  # a cut that parts this share of what the best cut parts is as good as the best
EVEN = 0.2  # how much the middle in groups counts beside the middle in price


class History:
    """What splitting each feature has gained so far, in proportion to how undecided it was."""

    def __init__(self, features: int) -> None:
        self.sum, self.count = np.zeros(features), np.zeros(features)

    def learn(self, feature: int, gain: float, doubt: float) -> None:
        """Remember a trial: the root of the product of both gains."""
        self.sum[feature] += gain**0.5 / max(doubt, 0.01)
        self.count[feature] += 1.0

    def expected(self, features: Ints) -> Floats:
        """The mean gain of each feature; that of the best for features never tried."""
        mean = self.sum[features] / np.maximum(self.count[features], 1.0)
        known = self.count[features] > 0
        return np.where(known, mean, mean.max(initial=0.0) or 1.0)


@njit(cache=True, nogil=True)
def _middle(price, first, last):
    """The cut from ``first`` to ``last`` that lies in the middle, in price and in groups."""
    ends = price[first - 1] + price[last]
    span = max(abs(price[last] - price[first - 1]), 1e-12)
    best, least = first, np.inf
    for g in range(first, last + 1):
        off = abs(price[g - 1] + price[g] - ends) / span
        off += EVEN * abs(2 * g - first - last) / (1 + last - first)
        if off < least:
            best, least = g, off
    return best


@njit(cache=True, nogil=True)
def candidates(inst, mean, most):
    """Per feature a cut between its choices, in their middle; the most undecided features first.

    A feature that wavers between two groups can be cut anywhere between them.  Next to one of them the
    half of the other would hold all but one group: the middle parts both, and what lies between.
    Returns features, cuts, and how undecided: the lesser share of choices on a side of the best cut,
    times the root of the number of groups between.  The groups before the cut go to one side.
    """
    features = len(inst.first) - 1
    place, doubt = np.zeros(features, np.int32), np.full(features, -1.0)
    for j in range(features):
        low, high = inst.first[j], inst.first[j + 1]
        if high - low < 2:
            continue
        whole = max(mean[low:high].sum(), 1e-12)
        best, left = 0.0, 0.0
        for g in range(low, high - 1):
            left += mean[g]
            best = max(best, min(left, whole - left) / whole)
        left = 0.0
        first, last = high, low
        for g in range(low, high - 1):
            left += mean[g]
            if min(left, whole - left) / whole >= NEAR * best:
                first, last = min(first, g + 1), g + 1
        place[j] = _middle(inst.price, first, last)
        doubt[j] = best * np.sqrt(1.0 + last - first)
    order = np.argsort(-doubt, kind="mergesort")
    count = 0
    while count < min(most, features) and doubt[order[count]] >= 0.0:
        count += 1
    chosen = order[:count].astype(np.int32)
    return chosen, place[chosen], doubt[chosen]
