"""The record of a search: its boxes as they were split, filtered and closed, and with which multipliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyflip.core.proof import CLOSED, FILTERED, SPLIT, Proof
from polyflip.core.space import Floats, Ints
from polyflip.solvers.search.instance import Instance

__all__ = ["MOST_PRICES", "Record"]

MOST_PRICES = 40_000_000  # a record that would grow beyond this is given up


class _Multipliers(NamedTuple):
    tree: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    pieces: npt.NDArray[np.int32]
    cell: npt.NDArray[np.int32]
    theta: Floats
    lam: Floats


class Record:
    """Boxes by number; the first is the whole domain.  A box without a word is closed by being empty.

    ``scale`` is what the engine multiplied the rows of the requirement by, ``whole`` by what they were
    made whole (0: they were not).
    """

    def __init__(self, scale: Floats, whole: Ints) -> None:
        self.scale, self.whole = scale, whole
        self.kind = [CLOSED]
        self.place: list[tuple[int, int]] = [(-1, -1)]
        self.multipliers: list[_Multipliers | None] = [None]
        self.children: list[list[int]] = [[]]
        self.prices = 0

    @property
    def full(self) -> bool:
        """Whether the record has grown beyond what is kept."""
        return self.prices > MOST_PRICES

    def _grow(self, box: int) -> int:
        child = len(self.kind)
        self.kind.append(CLOSED)
        self.place.append((-1, -1))
        self.multipliers.append(None)
        self.children.append([])
        self.children[box].append(child)
        return child

    def close(self, box: int, inst: Instance, theta: Floats, lam: Floats) -> None:
        """A box ends here: its bound has reached the cost."""
        count = np.diff(inst.pieces)
        cell = inst.begin[inst.piece_low].astype(np.int32)
        cell[inst.pieces[:-1]] = 0
        tree = np.repeat(inst.tree, np.diff(inst.slots)).astype(np.int32)
        feature, pieces = inst.slot_feature.astype(np.int32), count.astype(np.int32)
        self.multipliers[box] = _Multipliers(tree, feature, pieces, cell, theta.copy(), lam * self.scale)
        self.prices += len(theta)

    def filter(self, box: int, inst: Instance, theta: Floats, lam: Floats) -> int:
        """A box goes on without the cells and leaves that these multipliers strike out."""
        self.close(box, inst, theta, lam)
        self.kind[box] = FILTERED
        return self._grow(box)

    def split(self, box: int, feature: int, cut: int) -> tuple[int, int]:
        """A box is split: the cells of a feature below ``cut``, and the rest."""
        self.kind[box] = SPLIT
        self.place[box] = (feature, cut)
        return self._grow(box), self._grow(box)

    def proof(self, unit: float, whole: bool) -> Proof:
        """All of it in preorder, as plain arrays."""
        order, stack = [], [0]
        while stack:
            box = stack.pop()
            order.append(box)
            stack += reversed(self.children[box])
        rows = len(self.scale)
        none = np.zeros(0, dtype=np.int32)
        empty = _Multipliers(none, none, none, none, np.zeros(0), np.zeros(rows))
        parts = [self.multipliers[box] or empty for box in order]
        counts = np.concatenate([part.pieces for part in parts])
        return Proof(
            unit=unit,
            whole=whole,
            scale=self.whole,
            kind=np.array([self.kind[box] for box in order], dtype=np.int64),
            feature=np.array([self.place[box][0] for box in order], dtype=np.int64),
            cut=np.array([self.place[box][1] for box in order], dtype=np.int64),
            lam=np.array([part.lam for part in parts]).reshape(len(parts), rows),
            slots=np.concatenate([[0], np.cumsum([len(part.tree) for part in parts])]).astype(np.int64),
            slot_tree=np.concatenate([part.tree for part in parts]).astype(np.int64),
            slot_feature=np.concatenate([part.feature for part in parts]).astype(np.int64),
            pieces=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            piece_cell=np.concatenate([part.cell for part in parts]).astype(np.int64),
            theta=np.concatenate([part.theta for part in parts]),
        )
