"""Readers: any supported model becomes trees over its columns, and these a space and an ensemble.

Why this room exists: a reader owns the facts of one library (how it compares, how it adds up, what
its predict does with a tie), so that nothing behind it needs to know the library.  A new model is a
new reader; no solver changes.
"""

from __future__ import annotations

from typing import Any

from polyflip.errors import ModelError
from polyflip.readers.files import load_model
from polyflip.readers.fold import fold
from polyflip.readers.reading import ColumnTrees, Reading, Vote

__all__ = ["ColumnTrees", "Reading", "Vote", "fold", "load_model", "read_model"]

SUPPORTED = (
    "DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, "
    "CategoricalNB and BernoulliNB of scikit-learn"
)


def read_model(model: Any, vote: Vote = "model") -> Reading:
    """Read a fitted model; an unsupported or unfitted one is refused with what would be right."""
    if vote not in ("model", "majority"):
        raise ModelError(f"vote={vote!r} is not known; choose 'model' (what predict does) or 'majority'")
    from polyflip.readers import sklearn_bayes, sklearn_trees

    if sklearn_trees.reads(model):
        return sklearn_trees.read(model, vote)
    if sklearn_bayes.reads(model):
        return sklearn_bayes.read(model, vote)
    what = (
        model.__name__ + " (a class, not a fitted model)" if isinstance(model, type) else type(model).__name__
    )
    raise ModelError(f"{what} is not supported; supported are {SUPPORTED}")
