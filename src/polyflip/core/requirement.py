"""Requirement: linear inequalities on the score, rounded to what the sum of leaves can reach."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd, lcm

import numpy as np

from polyflip.core.ensemble import Ensemble
from polyflip.core.space import Bools, Floats, Ints

__all__ = ["Inequality", "Requirement"]

LARGEST_DENOMINATOR = 10_000
DYADIC_LIMIT = 2**30


@dataclass(frozen=True, eq=False)
class Requirement:
    """``weights @ score >= at_least`` for every row; ``strict`` rows must exceed it.

    The row says on which side a tie falls: scikit-learn's argmax takes the lowest class, so that a
    higher class must strictly exceed it.
    """

    weights: Floats
    at_least: Floats
    strict: Bools

    @classmethod
    def wins(cls, target: int, classes: int, outright: bool = False) -> Requirement:
        """The class ``target`` has the highest score; a tie goes to the lowest class.

        With ``outright`` it must have more than all others together: where every tree has one vote
        that is the paper's majority, more than half of the trees, and a tie is no win.

        >>> Requirement.wins(1, 3).strict.tolist()
        [True, False]
        >>> Requirement.wins(1, 3, outright=True).weights.tolist()
        [[-1.0, 1.0, -1.0]]
        """
        if outright:
            against = np.full((1, classes), -1.0)
            against[0, target] = 1.0
            return cls(against, np.zeros(1), np.ones(1, dtype=np.bool_))
        others = [k for k in range(classes) if k != target]
        weights = np.zeros((len(others), classes))
        weights[:, target] = 1.0
        weights[np.arange(len(others)), others] = -1.0
        strict = np.array([k < target for k in others], dtype=np.bool_)
        return cls(weights, np.zeros(len(others)), strict)

    @classmethod
    def none(cls, outputs: int) -> Requirement:
        """No requirement at all: every point that exists will do."""
        return cls(np.zeros((0, outputs)), np.zeros(0), np.zeros(0, dtype=np.bool_))

    def inequalities(self, ensemble: Ensemble) -> list[Inequality]:
        """One inequality on the leaves per row, in whole numbers where the leaf values allow it."""
        return [
            Inequality.of(ensemble, weights, float(at_least), bool(strict))
            for weights, at_least, strict in zip(self.weights, self.at_least, self.strict, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Inequality:
    """``sum of leaf[l] over the leaves reached >= at_least``.

    Where the leaf values are fractions with a small denominator they are scaled to whole numbers,
    and ``at_least`` is rounded up to the next value that the sum can take.  With pure leaves this
    asks for 2 rather than for "more than 0", which no solver's tolerance can slip under.

    Where the model's own floating sum may fall on either side of a tie (values such as 1/3 are not
    doubles, and what sums in single precision rounds sooner) the inequality is the wider one: the
    model itself then decides on such a point.
    """

    leaf: Floats
    at_least: float
    whole: bool
    slack: float
    scale: float = 1.0

    @property
    def threshold(self) -> float:
        """``at_least`` in the units of the score (``base`` left out)."""
        return self.at_least / self.scale

    @classmethod
    def of(cls, ensemble: Ensemble, weights: Floats, at_least: float, strict: bool) -> Inequality:
        """The row of an ensemble, scaled and rounded."""
        leaf = ensemble.values @ weights
        target = at_least - float(ensemble.base @ weights)
        slack = roundoff(ensemble, weights)
        scale = _denominator(np.append(leaf, target))
        if scale is None:
            return cls(leaf, target - slack, False, slack)
        whole = np.rint(leaf * scale).astype(np.int64)
        if _sums_exactly(ensemble, weights):
            least = round(target * scale) + strict
        else:
            least = ceil(target * scale - slack * scale - _largest(ensemble, leaf * scale - whole))
        grid = float(_reachable(ensemble, whole, least))
        return cls(whole.astype(np.float64), grid, True, slack, float(scale))

    def value(self, reached: Ints) -> Floats:
        """The left-hand side at points given by the leaves they reach."""
        total: Floats = self.leaf[reached].sum(axis=1)
        return total

    def met(self, reached: Ints) -> Bools:
        """Whether points given by the leaves they reach meet the inequality."""
        return self.value(reached) >= self.at_least - (0.0 if self.whole else self.slack)


def roundoff(ensemble: Ensemble, weights: Floats) -> float:
    """How far the model's floating sum of a row may lie from the true one (a rigorous bound)."""
    magnitudes = np.abs(ensemble.values) @ np.abs(weights)
    total = _largest(ensemble, magnitudes) + float(np.abs(ensemble.base) @ np.abs(weights))
    return 4.0 * (ensemble.trees + 4) * ensemble.roundoff * total


def _denominator(values: Floats) -> int | None:
    """The least scale that makes all values whole: a power of two exactly, else a small one nearly."""
    distinct = np.unique(values)
    scale = 1
    for value in distinct:
        fraction = Fraction(float(value))
        if fraction.denominator > DYADIC_LIMIT:
            fraction = fraction.limit_denominator(LARGEST_DENOMINATOR)
            if abs(float(fraction) - value) > 4e-15 * max(1.0, abs(value)):
                return None
        scale = lcm(scale, fraction.denominator)
        if scale > DYADIC_LIMIT or (scale & (scale - 1) and scale > LARGEST_DENOMINATOR):
            return None
    if len(distinct) and np.abs(distinct).max() * scale > 2**40:
        return None
    return scale


def _sums_exactly(ensemble: Ensemble, weights: Floats) -> bool:
    """Whether the model's own sums are exact: of multiples of one power of two, and not too large."""
    used = weights != 0
    values, base = ensemble.values[:, used], ensemble.base[used]
    step = _denominator(np.append(values, base))
    if step is None or step & (step - 1):
        return False
    total = _largest(ensemble, np.abs(values).sum(axis=1)) + float(np.abs(base).sum())
    return total * step < 0.5 / ensemble.roundoff


def _largest(ensemble: Ensemble, amounts: Floats) -> float:
    """The sum over trees of the largest of their leaves."""
    largest = np.zeros(ensemble.trees)
    np.maximum.at(largest, ensemble.tree_of_leaf, np.abs(amounts))
    return float(largest.sum())


def _reachable(ensemble: Ensemble, leaf: Ints, least: int) -> int:
    """The least value ``>= least`` on the grid of the sums that the trees can take."""
    floor, step = 0, 0
    owner = ensemble.tree_of_leaf
    for tree in range(ensemble.trees):
        own = leaf[owner == tree]
        floor += int(own.min())
        step = gcd(step, *(own - own.min()).tolist())
    return least if step == 0 else floor + -((floor - least) // step) * step
