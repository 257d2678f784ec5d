"""The instances of the benchmark: a forest, a row and a question each, as a core problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.data import DATA, Dataset, load
from polyflip import Explainer
from polyflip.answers import question_of
from polyflip.answers.flip import problem_of
from polyflip.answers.question import Question
from polyflip.core import Problem
from polyflip.frames import Row

__all__ = ["ROWS", "Instance", "explainer_of", "grid", "model_of", "prepare", "table_of"]

ROWS = 20
DISTANCES = ("l1-std", "l0", "rules-std")
VOTES = ("model", "majority")
DEPTHS = (3, 5, 8, 0)  # 0: as deep as it gets
TREES = (10, 100, 500)


@dataclass(frozen=True, order=True)
class Instance:
    """One question: the cheapest flip of one row of one data set under one forest."""

    data: str
    trees: int
    depth: int
    vote: str
    distance: str
    conditions: bool
    row: int

    @property
    def forest(self) -> tuple[str, int, int]:
        """What the model is made of."""
        return self.data, self.trees, self.depth


def grid(
    data: Iterable[str] = tuple(DATA),
    trees: Iterable[int] = TREES,
    depths: Iterable[int] = DEPTHS,
    distances: Iterable[str] = DISTANCES,
    votes: Iterable[str] = VOTES,
    conditions: Iterable[bool] = (False, True),
    rows: int = ROWS,
) -> Iterator[Instance]:
    """All combinations."""
    for each in product(data, trees, depths, votes, distances, conditions, range(rows)):
        yield Instance(*each)


@lru_cache(maxsize=8)
def table_of(name: str) -> Dataset:
    """A data set, read once."""
    return load(name)


@lru_cache(maxsize=64)
def model_of(data: str, trees: int, depth: int) -> Any:
    """A forest, grown on the whole table."""
    from sklearn.ensemble import RandomForestClassifier

    table = table_of(data)
    forest = RandomForestClassifier(trees, max_depth=depth or None, random_state=0)
    return forest.fit(table.matrix, table.target)


@lru_cache(maxsize=128)
def explainer_of(data: str, trees: int, depth: int, vote: str) -> Explainer:
    """The forest, compiled once for all of its questions."""
    table = table_of(data)
    model = model_of(data, trees, depth)
    return Explainer(model, table.columns, features=table.features or None, vote=vote)  # type: ignore[arg-type]


def prepare(instance: Instance) -> tuple[Question, Problem]:
    """The question, and its problem without the order among equals, which only polyflip promises."""
    table = table_of(instance.data)
    place = instance.row * (len(table.target) // ROWS)
    row = Row({name: column[place] for name, column in table.columns.items()})
    explainer = explainer_of(*instance.forest, instance.vote)
    where = table.where if instance.conditions else None
    question = question_of(explainer._case(row), None, where, instance.distance, None)
    cost = question.cost
    nothing = tuple(np.zeros(len(price)) for price in cost.price)
    unordered = replace(cost, changed=tuple(each.astype(np.bool_) for each in nothing), move=nothing)
    return question, problem_of(question.case, question.targets[0], question.domain, unordered)
