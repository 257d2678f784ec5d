"""Branching: which feature to split and where, judged by a few steps of the bound on both sides."""

from __future__ import annotations

import numpy as np
from numba import njit

from polyflip.core.space import Floats, Ints

__all__ = ["History", "candidates"]


class History:
    """What splitting each feature has gained so far, per share of its choices that it parts."""

    def __init__(self, features: int) -> None:
        self.sum, self.count = np.zeros(features), np.zeros(features)

    def learn(self, feature: int, gain: float, share: float) -> None:
        """Remember a trial: the root of the product of both gains."""
        self.sum[feature] += gain**0.5 / max(share, 0.01)
        self.count[feature] += 1.0

    def expected(self, features: Ints) -> Floats:
        """The mean gain of each feature; that of the best for features never tried."""
        mean = self.sum[features] / np.maximum(self.count[features], 1.0)
        known = self.count[features] > 0
        return np.where(known, mean, mean.max(initial=0.0) or 1.0)


@njit(cache=True, nogil=True)
def candidates(inst, mean, most):
    """Per feature the split of its groups nearest to half of its choices; the most undecided first.

    Returns features, cuts and shares: the groups before the cut go to one side.
    """
    features = len(inst.first) - 1
    place, share = np.zeros(features, np.int32), np.full(features, -1.0)
    for j in range(features):
        low, high = inst.first[j], inst.first[j + 1]
        if high - low < 2:
            continue
        whole = mean[low:high].sum()
        left = 0.0
        share[j] = 0.0
        place[j] = low + (high - low) // 2
        for g in range(low, high - 1):
            left += mean[g]
            part = min(left, whole - left) / max(whole, 1e-12)
            if part > share[j]:
                share[j], place[j] = part, g + 1
    order = np.argsort(-share, kind="mergesort")
    count = 0
    while count < min(most, features) and share[order[count]] >= 0.0:
        count += 1
    chosen = order[:count].astype(np.int32)
    return chosen, place[chosen], share[chosen]
