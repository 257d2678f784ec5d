"""Compute a table of the paper and hold it against what is printed, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyflip.answers import Counterfactual, PrimeImplicant
from polyflip.core.space import Bools, Floats
from polyflip.errors import InputError
from polyflip.explainer import Explainer
from polyflip.paper.printed import CHANGES, VOTES, Changed, Votes
from polyflip.paper.studies import compas_study, lsat_study, votes_study

__all__ = ["Comparison", "Study", "compare_table"]

_Test = Callable[[Floats], Bools]
DISTANCE = "rules-std"  # the weights of the authors' notebooks
TITLES = {
    1: "a COMPAS instance",
    2: "an LSAT instance",
    3: "a congressional voting instance",
    4: "COMPAS instances",
    5: "LSAT instances",
    6: "congressional voting instances",
}
OUTCOMES = {"compas": ("Low", "High"), "lsat": ("Fail", "Pass"), "votes": ("Republican", "Democrat")}


@dataclass(frozen=True)
class Comparison:
    """One row of a table: per column what the paper prints, what is computed, and whether they agree."""

    name: str
    columns: tuple[str, ...]
    printed: tuple[str, ...]
    computed: tuple[str, ...]
    agree: tuple[bool, ...]
    proof: str
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the whole row agrees."""
        return all(self.agree)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "row": self.name,
            "agrees": self.agrees,
            "cells": {
                column: {"printed": printed, "computed": computed, "agree": agree}
                for column, printed, computed, agree in zip(
                    self.columns, self.printed, self.computed, self.agree, strict=True
                )
            },
            "proof": self.proof,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Study:
    """A table of the paper: its rows, or why it cannot be computed here."""

    table: int
    title: str
    factuals: tuple[dict[str, str], ...]
    rows: tuple[tuple[Comparison, ...], ...]
    missing: str = ""

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "table": self.table,
            "title": self.title,
            "missing": self.missing,
            "instances": [
                {"factual": factual, "rows": [row.to_dict() for row in rows]}
                for factual, rows in zip(self.factuals, self.rows, strict=True)
            ],
        }


def compare_table(table: int, lsat_path: str | Path | None = None, download: bool = False) -> Study:
    """Table 1 to 6 of the paper, computed and compared.

    >>> study = compare_table(1)
    >>> [row.agrees for row in study.rows[0]]
    [True, True]
    """
    if table not in TITLES:
        raise InputError(f"table {table}: the paper has tables 1 to 6")
    title = f"Table {table}: {TITLES[table]}"
    if table in VOTES:
        return _votes_table(table, title)
    if table in (1, 4):
        return _changes_table(table, title, compas_study(), OUTCOMES["compas"])
    if lsat_path is None and not download:
        why = "the LSAT data may not be shipped: give --lsat PATH, or --download to fetch it"
        return Study(table, title, (), (), why)
    return _changes_table(table, title, lsat_study(lsat_path, download), OUTCOMES["lsat"])


def _changes_table(table: int, title: str, explainer: Explainer, outcomes: tuple[str, str]) -> Study:
    factuals, rows = [], []
    for instance in CHANGES[table]:
        point = _columns_of(explainer, instance.factual)
        shown = _shown(explainer, point)
        plain_row = _change_row(explainer, point, "Counterfactual", instance.plain, None)
        name = f"Diverse ({instance.condition})"
        diverse = _change_row(explainer, point, name, instance.diverse, instance.condition)
        factuals.append(shown | {"outcome": outcomes[int(explainer.decision(point) == 1)]})
        rows.append((_noted(plain_row, instance), diverse))
    return Study(table, title, tuple(factuals), tuple(rows))


def _noted(row: Comparison, instance: Changed) -> Comparison:
    if not instance.misprint:
        return row
    reason = f"{row.reason}; {instance.misprint}" if row.reason else instance.misprint
    return Comparison(row.name, row.columns, row.printed, row.computed, row.agree, row.proof, reason)


def _columns_of(explainer: Explainer, values: Sequence[object]) -> dict[str, object]:
    """A row of the model's columns from a value per feature."""
    point: dict[str, object] = {}
    for feature, value in zip(explainer.features, values, strict=True):
        if feature.kind == "one-hot":
            flags = [int(label == value) for label in feature.labels]
            point |= dict(zip(feature.columns, flags, strict=True))
        else:
            point[feature.name] = value
    return {column: point[column] for column in explainer.columns}


def _shown(explainer: Explainer, point: Mapping[str, object]) -> dict[str, str]:
    """A point's features in words."""
    shown = {}
    for feature in explainer.features:
        if feature.kind == "one-hot":
            value: object = feature.labels[[point[c] for c in feature.columns].index(1)]
        else:
            value = point[feature.name]
            value = feature.labels[feature.codes.index(value)] if feature.discrete else value
        shown[feature.name] = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return shown


def _change_row(
    explainer: Explainer,
    point: Mapping[str, object],
    name: str,
    printed: Mapping[str, str],
    where: str | None,
) -> Comparison:
    answer = explainer.counterfactual(dict(point), where=where, distance=DISTANCE)
    factual = _shown(explainer, point)
    musts = {change.feature: change.must for change in answer.changes}
    columns, left, right, agree = [], [], [], []
    for feature in explainer.features:
        columns.append(feature.name)
        left.append(printed.get(feature.name, factual[feature.name]))
        right.append(musts.get(feature.name, factual[feature.name]))
        agree.append((feature.name in printed) == (feature.name in musts) and _same(left[-1], right[-1]))
    proof = f"cost {answer.cost:.4f}, {answer.status}"
    reason = "" if all(agree) else _why(explainer, point, printed, answer)
    return Comparison(name, tuple(columns), tuple(left), tuple(right), tuple(agree), proof, reason)


def _same(printed: str, computed: str) -> bool:
    """Whether two cells mean the same set of legal values (counts in wholes, scores in tenths)."""
    one, other = _predicate(printed), _predicate(computed)
    if one is None or other is None:
        return printed.lower() == computed.lower()
    whole = all("." not in cell or cell.endswith(".5") for cell in (printed, computed))
    grid: Floats = np.arange(0, 120, 1.0) if whole else np.round(np.arange(0, 60, 0.1), 1)
    return bool(np.array_equal(one(grid), other(grid)))


def _predicate(cell: str) -> _Test | None:
    match = re.fullmatch(r"(<=|>=|<|>)?\s*(-?\d+(?:\.\d+)?)", cell)
    if match is None:
        return None
    op, bound = match.group(1), float(match.group(2))
    compare = {None: np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[op]
    return lambda values: np.asarray(compare(values, bound))


def _why(
    explainer: Explainer,
    point: Mapping[str, object],
    printed: Mapping[str, str],
    answer: Counterfactual,
) -> str:
    """Put the printed change into this model: does it flip, and at what cost?"""
    held = [f"`{feature.name}` unchanged" for feature in explainer.features if feature.name not in printed]
    asked = [
        f"`{name}` {cell}" if _predicate(cell) is not None else f"`{name}` == '{cell}'"
        for name, cell in printed.items()
    ]
    other = explainer.counterfactual(dict(point), where=" and ".join(held + asked), distance=DISTANCE)
    text = ", ".join(f"{name} {cell}" for name, cell in printed.items())
    if not other.found:
        return f"in this model the printed change ({text}) flips nothing"
    equal = other.cost <= answer.cost * (1 + 1e-9)
    dearer = "no dearer than the optimum: a tie" if equal else f"dearer than the optimum {answer.cost:.4f}"
    return f"in this model the printed change flips at cost {other.cost:.4f}, {dearer}"


def _votes_table(table: int, title: str) -> Study:
    explainer = votes_study()
    factuals, rows = [], []
    first = explainer.columns[0]
    for instance in VOTES[table]:
        point = {name: int(sign == "+") for name, sign in zip(explainer.columns, instance.votes, strict=True)}
        decided = OUTCOMES["votes"][int(explainer.decision(point) == 1)]
        factuals.append(_numbered(instance.votes) | {"outcome": decided})
        free = explainer.prime_implicant(point, method="flip")
        bound = explainer.prime_implicant(point, method="flip", where=f"`{first}` unchanged")
        least = explainer.prime_implicant(point)
        rows.append(
            (
                _ticks(explainer, instance, point, "Prime implicants", instance.plain, free),
                _ticks(explainer, instance, point, "Conditional (vote 1)", instance.conditional, bound),
                _sound(explainer, least, free),
            )
        )
    return Study(table, title, tuple(factuals), tuple(rows))


def _numbered(signs: str) -> dict[str, str]:
    return {str(i + 1): sign for i, sign in enumerate(signs)}


def _ticks(
    explainer: Explainer,
    instance: Votes,
    point: Mapping[str, object],
    name: str,
    printed: tuple[int, ...],
    answer: PrimeImplicant,
) -> Comparison:
    computed = tuple(explainer.columns.index(feature) + 1 for feature in answer.features)
    numbers = range(1, len(instance.votes) + 1)
    marks = [["x" if n in each else "" for n in numbers] for each in (printed, computed)]
    agree = tuple((n in printed) == (n in computed) for n in numbers)
    proof = f"{len(answer)} votes, {answer.status}; {_verified(answer)}"
    reason = "" if all(agree) else _other_set(explainer, point, printed, computed)
    return Comparison(name, tuple(map(str, numbers)), tuple(marks[0]), tuple(marks[1]), agree, proof, reason)


def _verified(answer: PrimeImplicant) -> str:
    if answer.sufficient is None:
        return "not verified"
    return "verified sufficient" if answer.sufficient else "NOT sufficient when only some of the others flip"


def _other_set(
    explainer: Explainer, point: Mapping[str, object], printed: tuple[int, ...], computed: tuple[int, ...]
) -> str:
    """What the printed set is worth in this model: does the decision stand when all the rest flips?"""
    names = explainer.columns
    flipped = {n: (v if i + 1 in printed else 1 - int(v)) for i, (n, v) in enumerate(point.items())}  # type: ignore[call-overload]
    stands = explainer.decision(flipped) == explainer.decision(dict(point))
    enough = explainer.suffices(dict(point), [names[n - 1] for n in printed]).sufficient
    size = f"the printed set has {len(printed)}, the largest simultaneous change leaves {len(computed)}"
    if not stands:
        return f"{size}; with the printed set held and all else flipped this model decides otherwise"
    verdict = "it is sufficient" if enough else "it is not sufficient when only some of the rest flips"
    tie = "a tie: " if len(printed) == len(computed) else ""
    return f"{tie}{size}; the printed set passes the paper's own test as well, and {verdict}"


def _sound(explainer: Explainer, least: PrimeImplicant, flip: PrimeImplicant) -> Comparison:
    """The least set that is really sufficient, which the paper does not print."""
    numbers = tuple(str(n + 1) for n in range(len(explainer.columns)))
    ticks = tuple("x" if name in least.features else "" for name in explainer.columns)
    proof = f"{len(least)} votes, {least.status}; {_verified(least)}"
    reason = "" if flip.sufficient else "not in the paper: the least set that really is sufficient"
    return Comparison("Least sufficient set", numbers, ticks, ticks, (True,) * len(numbers), proof, reason)


def agreement(studies: Sequence[Study]) -> tuple[int, int, int, int]:
    """Rows that agree, rows compared, cells that agree, cells compared (of what the paper prints)."""
    rows = [
        row for study in studies for rows in study.rows for row in rows if row.name != "Least sufficient set"
    ]
    cells = [agree for row in rows for agree in row.agree]
    return sum(row.agrees for row in rows), len(rows), sum(cells), len(cells)
