"""Trees over columns, folded into features: the space of cells and the ensemble over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polyflip.core import Axis, Ensemble, Rules, Space
from polyflip.core.ensemble import LEAF, runs_of
from polyflip.core.space import Floats, Ints
from polyflip.features import Feature
from polyflip.readers.reading import ColumnTree, ColumnTrees

__all__ = ["fold"]

_RuleOf = Callable[[int, float, float, bool], int]


@dataclass(frozen=True)
class _Column:
    """Where a column of the model lives: its feature, and which category of a one-hot group it is."""

    feature: int
    category: int | None


def fold(
    trees: ColumnTrees, columns: Sequence[str], features: Sequence[Feature], routes_missing: bool
) -> tuple[Space, Ensemble]:
    """The space whose cells the trees' thresholds cut, and the trees over these cells."""
    homes = _homes(columns, features)
    axes = tuple(_axis(feature, j, trees, homes, routes_missing) for j, feature in enumerate(features))
    rules: dict[tuple[int, float, float, bool], int] = {}
    described: list[tuple[int, list[tuple[int, int]], str, float]] = []

    def rule_of(column: int, edge: float, threshold: float, missing_left: bool) -> int:
        home = homes[column]
        axis, feature = axes[home.feature], features[home.feature]
        missing_left = missing_left and axis.missing
        key = (column, edge, threshold, missing_left)  # the paper counts thresholds, equal edges or not
        if key not in rules:
            rules[key] = len(rules)
            name = f"{feature.name if home.category is None else columns[column]} <= {threshold:.17g}"
            name = name if np.isfinite(threshold) else f"{feature.name} is not missing"
            runs = _runs(axis, feature, home, edge, missing_left)
            described.append((home.feature, runs, name, threshold))
        return rules[key]

    parts = [_nodes(tree, rule_of) for tree in trees.trees]
    sizes = [len(part[0]) for part in parts]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if parts else np.zeros(0, np.int64)
    rule = _joined([part[0] for part in parts])
    left = _joined(
        [np.where(part[1] == LEAF, LEAF, part[1] + root) for part, root in zip(parts, roots, strict=True)]
    )
    right = _joined(
        [np.where(part[2] == LEAF, LEAF, part[2] + root) for part, root in zip(parts, roots, strict=True)]
    )
    leaf = np.where(rule == LEAF, np.cumsum(rule == LEAF) - 1, LEAF)
    values = np.concatenate([part[3] for part in parts]) if parts else np.zeros((0, len(trees.base)))
    ensemble = Ensemble(
        rules=Rules.of(
            [each[0] for each in described],
            [each[1] for each in described],
            [each[2] for each in described],
            [each[3] for each in described],
        ),
        roots=roots,
        rule=rule,
        left=left,
        right=right,
        leaf=leaf,
        values=values,
        forbidden=np.zeros(len(values), dtype=np.bool_),
        base=trees.base,
        roundoff=trees.roundoff,
    )
    return Space(axes), ensemble


def _homes(columns: Sequence[str], features: Sequence[Feature]) -> list[_Column]:
    place: dict[str, _Column] = {}
    for j, feature in enumerate(features):
        for i, column in enumerate(feature.columns):
            place[column] = _Column(j, i if feature.kind == "one-hot" else None)
    return [place[column] for column in columns]


def _axis(
    feature: Feature, number: int, trees: ColumnTrees, homes: Sequence[_Column], routes_missing: bool
) -> Axis:
    missing = routes_missing and bool(feature.missing) and feature.kind != "one-hot"
    if feature.discrete:
        return Axis.category(feature.name, feature.labels, missing)
    own = [column for column, home in enumerate(homes) if home.feature == number]
    edges = np.concatenate(
        [tree.edge[tree.column == c] for tree in trees.trees for c in own] or [np.zeros(0)]
    )
    shown = np.concatenate(
        [tree.threshold[tree.column == c] for tree in trees.trees for c in own] or [np.zeros(0)]
    )
    cuts, first = np.unique(edges, return_index=True)
    integer = feature.kind == "integer"
    return Axis.number(feature.name, cuts, shown[first], integer, missing, feature.lower, feature.upper)


def _runs(
    axis: Axis, feature: Feature, home: _Column, edge: float, missing_left: bool
) -> list[tuple[int, int]]:
    """The cells of a feature in which ``column <= edge`` holds."""
    if axis.kind == "category":
        if home.category is None:
            held = np.array(feature.codes) <= edge
        else:
            held = np.full(axis.values, edge >= 0.0)
            held[home.category] = edge >= 1.0
        return runs_of(np.append(held, missing_left) if axis.missing else held)
    cut = axis.cut(edge)
    runs = [(0, cut)] if cut else []
    return [*runs, (axis.size - 1, axis.size)] if missing_left else runs


def _nodes(tree: ColumnTree, rule_of: _RuleOf) -> tuple[Ints, Ints, Ints, Floats]:
    """A tree's nodes, renumbered to preorder, with rules for tests."""
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.column[node] >= 0:
            stack += [int(tree.right[node]), int(tree.left[node])]
    place = np.full(len(tree.column), LEAF, dtype=np.int64)
    place[order] = np.arange(len(order))
    inner = tree.column[order] >= 0
    rule = np.full(len(order), LEAF, dtype=np.int64)
    for i in np.flatnonzero(inner):
        node = order[i]
        rule[i] = rule_of(
            int(tree.column[node]),
            float(tree.edge[node]),
            float(tree.threshold[node]),
            bool(tree.missing_left[node]),
        )
    left = np.where(inner, place[tree.left[order]], LEAF)
    right = np.where(inner, place[tree.right[order]], LEAF)
    return rule, left, right, tree.value[order][~inner]


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
