"""Cost: a price per feature and cell, and the order among equally cheap points."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from polyflip.core.space import Bools, Floats, Ints

__all__ = ["Cost"]

EQUAL = 1e-9
ORDER = 1e-4


@dataclass(frozen=True, eq=False)
class Cost:
    """What a point costs: the sum of the prices of its cells.

    Among points of equal price (to one part in a billion) the one that changes fewest features
    wins, then the one that moves least, then the one that changes earlier features: ``changed``
    says in which cells a feature counts as changed, ``move`` how far it went (any scale, at most 1
    per feature).
    """

    price: tuple[Floats, ...]
    changed: tuple[Bools, ...]
    move: tuple[Floats, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def free(cls, sizes: Ints) -> Cost:
        """A cost of nothing, for questions that only ask whether a point exists."""
        return cls(
            tuple(np.zeros(n) for n in sizes),
            tuple(np.zeros(n, dtype=np.bool_) for n in sizes),
            tuple(np.zeros(n) for n in sizes),
        )

    def of(self, cells: Ints) -> float:
        """The price of one point."""
        return fsum(float(price[cell]) for price, cell in zip(self.price, cells, strict=True))

    @property
    def tie_break(self) -> tuple[Floats, ...]:
        """The second objective per cell: features changed, then the way moved, then the features' order.

        The way is divided so that all of it stays below one changed feature, and the order so that it
        only decides between ways that are alike: earlier features change first, to earlier cells.
        """
        features = len(self.move)
        share = 1.0 / (1.0 + features)
        return tuple(
            changed + share * (move + ORDER * changed * (j + np.arange(len(move)) / len(move)) / features)
            for j, (changed, move) in enumerate(zip(self.changed, self.move, strict=True))
        )

    def rank(self, cells: Ints) -> tuple[float, float]:
        """The price of a point and its place among equals."""
        second = fsum(float(tie[cell]) for tie, cell in zip(self.tie_break, cells, strict=True))
        return self.of(cells), second

    def better(self, one: tuple[float, float], other: tuple[float, float]) -> bool:
        """Whether the first rank comes before the second.

        >>> Cost.free(np.array([2])).better((1.0, 2.0), (1.0 + 1e-12, 1.0))
        False
        """
        room = self.room(max(one[0], other[0])) if np.isfinite(other[0]) else 0.0
        if abs(one[0] - other[0]) > room:
            return one[0] < other[0]
        return one[1] < other[1] - 1e-12

    @staticmethod
    def room(price: float) -> float:
        """How far two prices may lie apart and still count as equal."""
        return EQUAL * abs(price)
