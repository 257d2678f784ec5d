"""What every scikit-learn model can be asked: is it fitted, its columns, its classes, its predict."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyflip.core.space import Bools, Floats, Ints
from polyflip.errors import ModelError
from polyflip.frames import plain

__all__ = ["OwnPredict", "class_labels", "column_names", "fitted"]


def fitted(model: Any, *attributes: str) -> None:
    """Refuse a model that was not fitted, or that has several outputs."""
    name = type(model).__name__
    if not any(hasattr(model, attribute) for attribute in attributes):
        raise ModelError(f"this {name} is not fitted yet: call fit(X, y) first")
    if getattr(model, "n_outputs_", 1) != 1:
        raise ModelError(f"this {name} has {model.n_outputs_} outputs; one decision is explained at a time")


def class_labels(model: Any) -> tuple[object, ...]:
    """The classes, as plain Python values."""
    return tuple(plain(label) for label in model.classes_)


def column_names(model: Any) -> tuple[tuple[str, ...], bool]:
    """The model's columns, and whether it was fitted with names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return tuple(str(name) for name in names), True
    return tuple(f"x{i + 1}" for i in range(model.n_features_in_)), False


@dataclass(frozen=True, eq=False)
class OwnPredict:
    """The model's own predict, as class numbers: a value and no closure, so that it can be pickled.

    The matrix stands in the order of the columns, so scikit-learn's warning that it has no names
    says nothing new.
    """

    model: Any

    def __call__(self, matrix: Floats) -> Ints:
        """The number of the class of each row."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            labels = self.model.predict(matrix)
        numbers: Ints = np.searchsorted(self.model.classes_, labels).astype(np.int64)
        return numbers

    def wins(self, matrix: Floats, target: int) -> Bools:
        """Which rows are predicted to be of a class."""
        return np.asarray(self(matrix) == target)
