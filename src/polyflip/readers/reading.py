"""What a reader returns: trees over the model's columns, and the model's own last word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from polyflip.core.space import Bools, Floats, Ints
from polyflip.features import Feature

__all__ = ["ColumnTree", "ColumnTrees", "Reading", "Vote", "float32_edges"]

Vote = Literal["model", "majority"]


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """A tree over columns, in preorder: at an inner node a value goes left where ``value <= edge``.

    ``column`` is -1 at a leaf.  ``edge`` is the greatest double that goes left, ``threshold`` what
    the model prints.  Missing values go left where ``missing_left``.  ``value`` has a row per node.
    """

    column: Ints
    edge: Floats
    threshold: Floats
    missing_left: Bools
    left: Ints
    right: Ints
    value: Floats

    @classmethod
    def of_columns(cls, column: int, edges: Floats, values: Floats) -> ColumnTree:
        """A tree that asks one column only: value ``i`` lies between edges ``i - 1`` and ``i``.

        >>> ColumnTree.of_columns(0, np.array([0.5]), np.eye(2)).left.tolist()
        [1, -1, -1]
        """
        inner = len(edges)
        count = 2 * inner + 1
        columns, left, right = (np.full(count, -1, dtype=np.int64) for _ in range(3))
        edge, shown = np.zeros(count), np.zeros((count, values.shape[1]))
        node = 2 * np.arange(inner)
        columns[node], edge[node] = column, edges
        left[node], right[node] = node + 1, node + 2
        shown[node + 1], shown[count - 1] = values[:-1], values[-1]
        return cls(columns, edge, edge, np.zeros(count, dtype=np.bool_), left, right, shown)


@dataclass(frozen=True, eq=False)
class ColumnTrees:
    """All trees of a model, and the score with which the sum starts."""

    trees: tuple[ColumnTree, ...]
    base: Floats
    roundoff: float = 2.0**-53


@dataclass(frozen=True, eq=False)
class Reading:
    """A model as polyflip sees it.

    ``decide`` is the model's own decision on a matrix of its columns, as class numbers, and
    ``wins(matrix, target)`` says where a class wins in the sense of a counterfactual: with the
    model's own vote the same thing; with the majority vote the class of most votes is decided (of a
    tie the lowest), but a counterfactual must have more than half of the trees.  ``outright`` says
    so, and ``predict`` is then the model's own decision (None where ``decide`` is).  ``known`` are
    columns whose kind the model itself fixes, ``usual`` those whose kind it suggests where there is
    no data.
    """

    model: Any
    kind: str
    columns: tuple[str, ...]
    named: bool
    classes: tuple[object, ...]
    trees: ColumnTrees
    vote: Vote
    decide: Callable[[Floats], Ints]
    wins: Callable[[Floats, int], Bools]
    outright: bool = False
    allows_missing: bool = False
    known: Mapping[int, Feature] = field(default_factory=dict)
    usual: Mapping[int, Feature] = field(default_factory=dict)
    predict: Callable[[Floats], Ints] | None = None


def float32_edges(thresholds: Floats) -> Floats:
    """The greatest doubles ``x`` with ``float32(x) <= threshold``: where scikit-learn's trees change.

    >>> edge = float32_edges(np.array([0.1]))[0]
    >>> [float(np.float32(x)) <= 0.1 for x in (edge, np.nextafter(edge, 1))]
    [True, False]
    """
    with np.errstate(over="ignore"):
        below = thresholds.astype(np.float32)
        below = np.where(below > thresholds, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
        middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
        kept = middle.astype(np.float32) <= thresholds
    return np.where(kept, middle, np.nextafter(middle, -np.inf))
