"""scikit-learn's decision trees and forests of them.

The facts owned here: values are cast to float32 and compared with a double threshold; a forest adds
up class frequencies in doubles and takes the highest, a tie going to the lowest class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyflip.core.space import Bools, Floats, Ints
from polyflip.readers.reading import ColumnTree, ColumnTrees, Reading, Vote, float32_edges
from polyflip.readers.sklearn_model import class_labels, column_names, fitted, predicted

__all__ = ["read", "reads"]


def reads(model: Any) -> bool:
    """Whether this is a tree, a random forest or an extra-trees classifier."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return isinstance(model, (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier))


def read(model: Any, vote: Vote) -> Reading:
    """The trees; a leaf holds its class frequencies, or a single 1 where each tree has one vote."""
    fitted(model, "tree_", "estimators_")
    classes = class_labels(model)
    single = hasattr(model, "tree_")
    members = [model] if single else list(model.estimators_)
    one_vote = single or vote == "majority"
    trees = tuple(_tree(member.tree_, one_vote) for member in members)
    columns, named = column_names(model)
    predict = predicted(model)

    def decide(matrix: Floats) -> Ints:
        return predict(matrix) if vote == "model" or single else np.argmax(votes(matrix), axis=1)

    def votes(matrix: Floats) -> Ints:
        """How many trees vote for each class, by each tree's own predict."""
        ballots = np.stack([_own_class(member, matrix) for member in members])
        return np.stack([(ballots == k).sum(axis=0) for k in range(len(classes))], axis=1)

    def wins(matrix: Floats, target: int) -> Bools:
        if vote == "model" or single:
            return np.asarray(predict(matrix) == target)
        return np.asarray(2 * votes(matrix)[:, target] > len(members))

    return Reading(
        model=model,
        kind=type(model).__name__,
        columns=columns,
        named=named,
        classes=classes,
        trees=ColumnTrees(trees, np.zeros(len(classes))),
        vote=vote,
        decide=decide,
        wins=wins,
        outright=vote == "majority" and not single,
        allows_missing=_allows_missing(model),
        predict=None if vote == "model" or single else predict,
    )


def _own_class(member: Any, matrix: Floats) -> Ints:
    """The class number a forest's tree predicts (it was trained on class numbers)."""
    return np.asarray(member.predict(matrix)).astype(np.int64)


def _allows_missing(model: Any) -> bool:
    from sklearn.utils import get_tags

    return bool(get_tags(model).input_tags.allow_nan)


def _tree(tree: Any, one_vote: bool) -> ColumnTree:
    left, right = tree.children_left.astype(np.int64), tree.children_right.astype(np.int64)
    leaf = left == -1
    value = np.array(tree.value[:, 0, :], dtype=np.float64)
    if one_vote:
        value = np.eye(value.shape[1])[np.argmax(value, axis=1)]
    threshold = np.where(leaf, 0.0, tree.threshold)
    edge = float32_edges(threshold)
    missing_left = np.asarray(tree.missing_go_to_left, dtype=np.bool_)
    column = np.where(leaf, -1, tree.feature).astype(np.int64)
    return ColumnTree(column, edge, threshold, missing_left, left, right, value)
