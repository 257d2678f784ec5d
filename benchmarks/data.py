"""The tables of the benchmark: which columns they have, and what is asked under typical conditions."""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polyflip.frames import Column
from polyflip.paper.datasets import compas, votes

__all__ = ["DATA", "Dataset", "load"]

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("POLYFLIP_DATA", HERE.parent.parent / "shared" / "data"))


@dataclass(frozen=True)
class Dataset:
    """A table, its classes, what is declared about its columns, and a typical condition."""

    columns: dict[str, Column]
    target: Column
    where: str
    features: dict[str, Any] = field(default_factory=dict)
    numeric: bool = False

    @property
    def matrix(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The table as the model takes it."""
        return np.column_stack([column.astype(float) for column in self.columns.values()])


def _numbers(matrix: Any, target: Any, names: Any = None) -> Dataset:
    names = names or [f"x{j + 1}" for j in range(matrix.shape[1])]
    telling = np.argsort([-abs(np.corrcoef(column, target)[0, 1]) for column in matrix.T], kind="stable")
    first, second, third = (names[j] for j in telling[:3])
    where = f"{first} unchanged and {second} increases and {third} decreases"
    return Dataset(dict(zip(names, matrix.T, strict=True)), target, where, numeric=True)


def _breast_cancer() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return _numbers(data.data, data.target, [name.replace(" ", "_") for name in data.feature_names])


def _made(seed: int, features: int) -> Dataset:
    from sklearn.datasets import make_classification

    matrix, target = make_classification(5000, features, n_informative=features // 2, random_state=seed)
    return _numbers(matrix, target)


def _compas() -> Dataset:
    columns, target = compas()
    features = {
        "sex": {"categories": {0: "female", 1: "male"}},
        "race": {"categories": {0: "Caucasian", 1: "African-American"}},
    }
    return Dataset(columns, target, "sex unchanged and race unchanged and age increases", features)


def _votes() -> Dataset:
    columns, target = votes()
    first, second = list(columns)[:2]
    return Dataset(columns, target, f"{first} unchanged and {second} unchanged")


def _german() -> Dataset:
    """German credit with every category as a group of 0/1 columns."""
    with gzip.open(HERE / "data" / "german.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    columns: dict[str, Column] = {}
    features: dict[str, Any] = {}
    for name in rows[0]:
        texts = [row[name] for row in rows]
        if name == "class":
            continue
        if all(text.isdigit() for text in texts):
            columns[name] = np.array([int(text) for text in texts])
            continue
        levels = sorted(set(texts))
        group = [f"{name}_{level}" for level in levels]
        columns |= {
            column: np.array([int(text == level) for text in texts])
            for column, level in zip(group, levels, strict=True)
        }
        if len(levels) > 1:
            features[name] = {"kind": "one-hot", "columns": group}
    target = np.array([int(row["class"] == "1") for row in rows])
    return Dataset(columns, target, "age increases and personal_status_sex unchanged", features)


def _spambase() -> Dataset:
    path = SHARED / "spambase_ocean.csv.gz"
    if not path.is_file():
        raise FileNotFoundError("Spambase may not be shipped: set POLYFLIP_DATA to a folder that holds it")
    with gzip.open(path, "rt", newline="") as file:
        names, _, _, *rows = csv.reader(file)
    table = np.array(rows, dtype=float)
    return _numbers(table[:, :-1], table[:, -1].astype(int), names[:-1])


DATA = {
    "breast cancer": _breast_cancer,
    "compas": _compas,
    "german": _german,
    "spambase": _spambase,
    "votes": _votes,
    "made 20": lambda: _made(0, 20),
    "made 40": lambda: _made(1, 40),
}


def load(name: str) -> Dataset:
    """A table by its name."""
    return DATA[name]()
