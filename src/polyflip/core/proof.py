"""Proof: why nothing cheaper exists, as a tree of boxes with multipliers that anyone can evaluate."""

from __future__ import annotations

from dataclasses import dataclass

from polyflip.core.space import Floats, Ints

__all__ = ["CLOSED", "FILTERED", "SPLIT", "Proof"]

CLOSED, FILTERED, SPLIT = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Proof:
    """A branching tree in preorder; the first node is the whole domain.

    A ``SPLIT`` node has two children: the cells of ``feature`` below ``cut``, and the rest.  A
    ``FILTERED`` node has one child: the same box without the cells and leaves that its multipliers strike
    out.  A ``CLOSED`` node has none: its multipliers lift the bound to the cost.

    The multipliers of a node are ``lam`` (one per row of the requirement, at least zero) and a price
    ``theta`` for every piece of every slot: a slot is a feature that a tree asks for, a piece reaches
    from its ``piece_cell`` to the cell before the next piece's (the first piece begins at 0).  Slots of
    node n are ``slots[n]:slots[n + 1]``, pieces of slot s are ``pieces[s]:pieces[s + 1]``.  With them

        L = sum of lam * need
          + sum over trees of the least over leaves of
                (- lam * weight + sum over the tree's slots of the least theta in the leaf's cells)
          + sum over features of the least over cells of
                (price / unit - sum over the slots of the feature of theta)

    is a lower bound on the cost (in ``unit``) of every point of the box, where ``weight`` is what a leaf
    gives to a row, times the row's ``scale`` (a whole number, or 0 where no small one makes all weights
    whole), and ``need`` what the row asks for.  Where prices are ``whole`` multiples of the
    unit, a bound above one unit less than the cost is as good as the cost itself.
    """

    unit: float
    whole: bool
    scale: Ints
    kind: Ints
    feature: Ints
    cut: Ints
    lam: Floats
    slots: Ints
    slot_tree: Ints
    slot_feature: Ints
    pieces: Ints
    piece_cell: Ints
    theta: Floats

    @property
    def boxes(self) -> int:
        """How many nodes the tree has."""
        return len(self.kind)
