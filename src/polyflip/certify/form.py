"""The form of a proof: arrays of the right kind, length and range, before anything is read from them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["RefusedError", "refuse_malformed"]

LARGEST = 1e60  # multipliers and units beyond this are refused
SHAPES = (
    *((name, 1, np.int64) for name in ("kind", "feature", "cut", "scale", "slots", "slot_tree")),
    *((name, 1, np.int64) for name in ("slot_feature", "pieces", "piece_cell")),
    ("lam", 2, np.float64),
    ("theta", 1, np.float64),
)


class RefusedError(ValueError):
    """A proof that proves nothing; the message says where."""


def refuse_malformed(proof: Any, sizes: Any, trees: int, rows: int) -> None:
    """Refuse arrays of another kind, length or range; a box has a slot once, its pieces rise from cell 0."""
    for name, size, kind in SHAPES:
        array = getattr(proof, name)
        if not (isinstance(array, np.ndarray) and array.ndim == size and array.dtype == kind):
            raise RefusedError(f"its {name} are no array of {np.dtype(kind)} of {size} dimension(s)")
    nodes, slots, pieces = len(proof.kind), len(proof.slot_tree), len(proof.theta)
    sized = ((proof.feature, nodes), (proof.cut, nodes), (proof.slots, nodes + 1), (proof.scale, rows),
             (proof.slot_feature, slots), (proof.pieces, slots + 1), (proof.piece_cell, pieces))  # fmt: skip
    if proof.lam.shape != (nodes, rows) or any(len(array) != size for array, size in sized):
        raise RefusedError("its arrays do not fit together")
    for ends, last, least in ((proof.slots, slots, 0), (proof.pieces, pieces, 1)):
        inside = ends[0] == 0 and ends[-1] == last and ends.min() >= 0 and ends.max() <= last
        if not inside or np.diff(ends).min(initial=least) < least:
            raise RefusedError("its slots or pieces do not follow one another")
    for array, most in ((proof.slot_tree, trees), (proof.slot_feature, len(sizes)), (proof.scale, 2**30 + 1)):
        if array.min(initial=0) < 0 or array.max(initial=-1) >= most:
            raise RefusedError("it names a tree, a feature or a scale that cannot be")
    owner, most = np.repeat(np.arange(slots), np.diff(proof.pieces)), sizes[proof.slot_feature]
    fresh = np.diff(proof.piece_cell, prepend=-1) > 0
    fresh[proof.pieces[:-1]] = proof.piece_cell[proof.pieces[:-1]] == 0
    if not fresh.all() or (proof.piece_cell >= most[owner]).any():
        raise RefusedError("the pieces of a slot do not begin at cell 0, rise, and end inside")
    box = np.repeat(np.arange(nodes), np.diff(proof.slots))
    if len(np.unique((box * trees + proof.slot_tree) * len(sizes) + proof.slot_feature)) < slots:
        raise RefusedError("a box has a slot twice")
    sane = (np.abs(proof.theta) < LARGEST).all() and ((proof.lam >= 0) & (proof.lam < LARGEST)).all()
    if not (sane and 1 / LARGEST < proof.unit < LARGEST):
        raise RefusedError("a multiplier is negative, too large, or no number")
