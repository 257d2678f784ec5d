"""scikit-learn's decision trees and forests of them.

The facts owned here: values are cast to float32 and compared with a double threshold; a forest adds
up class frequencies in doubles and takes the highest, a tie going to the lowest class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyflip.core.space import Bools, Floats, Ints
from polyflip.readers.reading import ColumnTree, ColumnTrees, Reading, Vote, float32_edges
from polyflip.readers.sklearn_model import OwnPredict, class_labels, column_names, fitted

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
    own = OwnPredict(model)
    counted = None if vote == "model" or single else _MajorityVote(tuple(members), len(classes))
    return Reading(
        model=model,
        kind=type(model).__name__,
        columns=columns,
        named=named,
        classes=classes,
        trees=ColumnTrees(trees, np.zeros(len(classes))),
        vote=vote,
        decide=counted or own,
        wins=(counted or own).wins,
        outright=counted is not None,
        allows_missing=_allows_missing(model),
        predict=own if counted is not None else None,
    )


@dataclass(frozen=True, eq=False)
class _MajorityVote:
    """The paper's vote: every tree one, by its own predict."""

    members: tuple[Any, ...]
    classes: int

    def __call__(self, matrix: Floats) -> Ints:
        """The class of most votes of each row; of a tie the lowest."""
        most: Ints = np.argmax(self.votes(matrix), axis=1)
        return most

    def wins(self, matrix: Floats, target: int) -> Bools:
        """Which rows more than half of all trees vote a class for."""
        return np.asarray(2 * self.votes(matrix)[:, target] > len(self.members))

    def votes(self, matrix: Floats) -> Ints:
        """How many trees vote for each class (a forest's tree was trained on class numbers)."""
        ballots = np.stack([np.asarray(member.predict(matrix)).astype(np.int64) for member in self.members])
        return np.stack([(ballots == k).sum(axis=0) for k in range(self.classes)], axis=1)


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
