"""Trees by hand, for the paper's worked examples and for random problems."""

from __future__ import annotations

import numpy as np

from polyflip.core import Axis, Cost, Ensemble, Problem, Requirement, Rules, Space
from polyflip.core.ensemble import LEAF
from polyflip.features import declare
from polyflip.readers.fold import fold
from polyflip.readers.reading import ColumnTree, ColumnTrees

COLUMNS = ("X1", "X2", "X3")

# a tree is a leaf (its class) or (column, threshold, tree where it holds, tree where it fails)
FIGURE_1A = ("X1", 10, ("X2", 50, 1, 0), ("X2", 20, 1, 0))
FIGURE_1B = (
    ("X2", 1, ("X3", 2, 1, 0), ("X3", 10, 1, 0)),
    ("X1", 5, ("X2", 2, 1, 0), 0),
    ("X1", 3, ("X3", 5, 1, 0), ("X2", 6, 0, 1)),
)


def column_tree(nested, columns=COLUMNS, classes=2):
    """A reader's tree from nested tuples; a leaf is a class, or a vector of values."""
    column, edge, left, right, value = [], [], [], [], []

    def add(node):
        place = len(column)
        inner = isinstance(node, tuple) and isinstance(node[0], str)
        column.append(columns.index(node[0]) if inner else -1)
        edge.append(float(node[1]) if inner else 0.0)
        left.append(-1)
        right.append(-1)
        leaf = (
            np.zeros(classes) if inner else np.eye(classes)[node] if isinstance(node, int) else np.array(node)
        )
        value.append(leaf)
        if inner:
            left[place], right[place] = add(node[2]), add(node[3])
        return place

    add(nested)
    edges = np.array(edge)
    return ColumnTree(
        np.array(column),
        edges,
        edges,
        np.zeros(len(column), dtype=bool),
        np.array(left),
        np.array(right),
        np.array(value, dtype=float),
    )


def folded(trees, columns=COLUMNS, classes=2):
    """Space and ensemble of trees given as nested tuples."""
    parts = tuple(column_tree(tree, columns, classes) for tree in trees)
    return fold(ColumnTrees(parts, np.zeros(classes)), columns, declare(columns), False)


def hamming_problem(trees, point, target, columns=COLUMNS, outright=False):
    """The cheapest change of rules, from a point given by its values, to a class of a vote."""
    space, ensemble = folded(trees, columns)
    cells = np.array([axis.cell_of(value) for axis, value in zip(space.axes, point, strict=True)])
    price = tuple(
        np.abs(np.arange(axis.size) - c).astype(float) for axis, c in zip(space.axes, cells, strict=True)
    )
    changed = tuple(np.arange(axis.size) != c for axis, c in zip(space.axes, cells, strict=True))
    cost = Cost(price, changed, tuple(np.zeros(axis.size) for axis in space.axes))
    return Problem(space, ensemble, Requirement.wins(target, 2, outright), cost, space.everything())


def random_problem(rng, features=3, trees=4, classes=2, whole=False):
    """A random problem: numbers and categories, missing cells, penalty trees, struck-out cells."""
    axes = []
    for j in range(features):
        missing = bool(rng.random() < 0.2)
        if rng.random() < 0.4:
            axes.append(Axis.category(f"f{j}", range(int(rng.integers(1, 5))), missing))
        else:
            axes.append(Axis.number(f"f{j}", np.arange(int(rng.integers(0, 4))), missing=missing))
    space = Space(tuple(axes))
    ensemble = random_ensemble(rng, space, trees, classes, whole)
    boxes = []
    for _ in range(int(rng.integers(0, 3))):
        chosen = rng.choice(features, size=int(rng.integers(1, features + 1)), replace=False)
        boxes.append({int(j): rng.random(axes[j].size) < 0.5 for j in chosen})
    ensemble = ensemble.forbidding(boxes)
    domain = space.everything()
    for j, axis in enumerate(axes):
        if rng.random() < 0.3:
            domain = domain.keep(j, rng.random(axis.size) < 0.7)
    price, changed, move = [], [], []
    for axis in axes:
        here = int(rng.integers(axis.size))
        weights = rng.choice([0.0, 0.5, 1.0, float(rng.random())], size=axis.size)
        own = np.arange(axis.size) == here
        price.append(np.where(own, 0.0, weights))
        changed.append(~own)
        move.append(np.where(own, 0.0, rng.random(axis.size)))
    cost = Cost(tuple(price), tuple(changed), tuple(move))
    target = int(rng.integers(classes))
    requirement = Requirement.wins(target, classes, bool(rng.random() < 0.3))
    return Problem(space, ensemble, requirement, cost, domain)


def random_ensemble(rng, space, trees, classes, whole):
    """Random trees whose rules hold on random sets of cells."""
    feature, runs, roots, rule, left, right, leaf, values = [], [], [], [], [], [], [], []

    def grow(depth):
        place = len(rule)
        rule.append(LEAF)
        left.append(LEAF)
        right.append(LEAF)
        leaf.append(LEAF)
        if depth == 0 or rng.random() < 0.2:
            leaf[place] = len(values)
            value = np.eye(classes)[rng.integers(classes)] if whole else rng.dirichlet(np.ones(classes))
            values.append(value)
            return place
        j = int(rng.integers(len(space.axes)))
        feature.append(j)
        runs.append(_random_runs(rng, space.axes[j]))
        rule[place] = len(feature) - 1
        left[place] = grow(depth - 1)
        right[place] = grow(depth - 1)
        return place

    for _ in range(trees):
        roots.append(len(rule))
        grow(int(rng.integers(0, 4)))
    return Ensemble(
        Rules.of(feature, runs),
        np.array(roots),
        np.array(rule),
        np.array(left),
        np.array(right),
        np.array(leaf),
        np.array(values).reshape(len(values), classes),
        np.zeros(len(values), dtype=bool),
        np.zeros(classes),
    )


def _random_runs(rng, axis):
    if axis.kind == "category":
        return [(c, c + 1) for c in range(axis.size) if rng.random() < 0.5]
    cut = int(rng.integers(0, axis.values + 1))
    runs = [(0, cut)] if cut else []
    return [*runs, (axis.size - 1, axis.size)] if axis.missing and rng.random() < 0.5 else runs
