"""scikit-learn's naive Bayes over categories and over binary features.

The log-probability of a class is a sum over features, so that a model is one small tree per
feature: the program stays linear in the model's size where the decision polynomial is exponential.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyflip.errors import ModelError
from polyflip.features import Feature
from polyflip.readers.reading import ColumnTree, ColumnTrees, Reading, Vote
from polyflip.readers.sklearn_model import OwnPredict, class_labels, column_names, fitted

__all__ = ["read", "reads"]


def reads(model: Any) -> bool:
    """Whether this is a naive Bayes model over categories or binary features."""
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB

    return isinstance(model, (CategoricalNB, BernoulliNB))


def read(model: Any, vote: Vote) -> Reading:
    """One tree per feature whose leaves hold the log-probabilities of the feature's values."""
    from sklearn.naive_bayes import CategoricalNB

    fitted(model, "feature_log_prob_")
    if vote == "majority":
        raise ModelError(f"vote='majority' is for forests; {type(model).__name__} has no trees that vote")
    trees, known = _categorical(model) if isinstance(model, CategoricalNB) else _bernoulli(model)
    for tree in trees:
        if not np.isfinite(tree.value).all():
            raise ModelError(
                f"this {type(model).__name__} holds probabilities of zero, whose logarithms are infinite: "
                "fit it with alpha > 0"
            )
    columns, named = column_names(model)
    predict = OwnPredict(model)
    return Reading(
        model=model,
        kind=type(model).__name__,
        columns=columns,
        named=named,
        classes=class_labels(model),
        trees=ColumnTrees(tuple(trees), np.array(model.class_log_prior_, dtype=np.float64)),
        vote=vote,
        decide=predict,
        wins=predict.wins,
        known=known,
        usual=_usual(model),
    )


def _usual(model: Any) -> dict[int, Feature]:
    """A binarizing model is as a rule made for 0/1 columns."""
    binarize = getattr(model, "binarize", None)
    if binarize is None or not 0 <= binarize < 1:
        return {}
    return dict.fromkeys(range(model.n_features_in_), Feature("column", "binary", categories=(0, 1)))


def _categorical(model: Any) -> tuple[list[ColumnTree], dict[int, Feature]]:
    trees, known = [], {}
    for column, log_prob in enumerate(model.feature_log_prob_):
        codes = log_prob.shape[1]
        trees.append(ColumnTree.of_columns(column, np.arange(codes - 1) + 0.5, log_prob.T))
        kind = "binary" if codes == 2 else "category"
        known[column] = Feature(f"column {column}", kind=kind, categories=tuple(range(codes)))  # type: ignore[arg-type]
    return trees, known


def _bernoulli(model: Any) -> tuple[list[ColumnTree], dict[int, Feature]]:
    log_prob = model.feature_log_prob_
    with np.errstate(divide="ignore"):
        log_other = np.log(1 - np.exp(log_prob))
    edge = np.array([0.5 if model.binarize is None else float(model.binarize)])
    trees = [
        ColumnTree.of_columns(column, edge, np.stack([log_other[:, column], log_prob[:, column]]))
        for column in range(log_prob.shape[1])
    ]
    if model.binarize is not None:
        return trees, {}
    binary = Feature("column", kind="binary", categories=(0, 1))
    return trees, dict.fromkeys(range(log_prob.shape[1]), binary)
