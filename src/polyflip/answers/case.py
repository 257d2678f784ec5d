"""A case: one row of one model, in the user's columns and in cells, and the way between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import Any

import numpy as np

from polyflip.core import Domain, Ensemble, Point, Space
from polyflip.core.space import Floats, Ints
from polyflip.distances import Pricer
from polyflip.errors import InputError
from polyflip.features import Feature
from polyflip.frames import Row, Table, plain
from polyflip.readers import Reading, fold

__all__ = ["Case", "Subject", "matrix_of", "point_of", "readable"]

ROUND_TO = 1e-6
MOST_HINTS = 2000
LARGEST = float(np.finfo(np.float32).max)
_DIGITS = Context(prec=800)  # enough for any double to any place


@dataclass(frozen=True, eq=False)
class Subject:
    """A compiled model: read once, asked about many rows."""

    reading: Reading
    columns: tuple[str, ...]
    features: tuple[Feature, ...]
    space: Space
    ensemble: Ensemble
    pricer: Pricer
    sample: tuple[Floats, ...] | None

    @cached_property
    def hints(self) -> Ints | None:
        """Rows of the data as cells, from which a search may start."""
        if self.sample is None:
            return None
        rows = len(self.sample[0])
        chosen = np.linspace(0, rows - 1, min(rows, MOST_HINTS)).astype(np.int64)
        pairs = zip(self.space.axes, self.sample, strict=True)
        cells = np.stack([axis.cells_of(values[chosen]) for axis, values in pairs], axis=1)
        found: Ints = np.unique(cells[(cells >= 0).all(axis=1)], axis=0)
        return found

    @classmethod
    def of(
        cls, reading: Reading, columns: tuple[str, ...], features: tuple[Feature, ...], table: Table | None
    ) -> Subject:
        """A model's trees over the cells of these features, and what the data tells of distances."""
        space, ensemble = fold(reading.trees, columns, features, reading.allows_missing)
        sample = None if table is None else _sample(table, features)
        pricer = Pricer(space, ensemble, features, sample)
        return cls(reading, columns, features, space, ensemble, pricer, sample)

    def feature(self, name: str) -> int:
        """The number of a feature by its name."""
        if name not in self.space.names:
            raise InputError(f"{name!r} is no feature; the features are {', '.join(self.space.names)}")
        return self.space.names.index(name)


@dataclass(frozen=True, eq=False)
class Case:
    """One row: as the user gave it, as a point with cells, and the class that was decided."""

    subject: Subject
    row: Row
    point: Point
    decided: int

    @classmethod
    def of(cls, subject: Subject, row: Row) -> Case:
        """A row as the model reads it, with what the vote in force decides."""
        point = point_of(subject.space, subject.features, row.values)
        matrix = matrix_of(subject.columns, row.values, subject.features)
        return cls(subject, row, point, int(subject.reading.decide(matrix)[0]))

    @property
    def decision(self) -> object:
        """The label that was decided for the row."""
        return self.subject.reading.classes[self.decided]

    def values_at(self, cells: Ints, domain: Domain) -> Floats:
        """The values to show from cells: the factual's own where they are legal, else the nearest.

        They are rounded, inside their cell, to what a user would write down.
        """
        values = np.empty(len(cells))
        for j, cell in enumerate(cells.tolist()):
            own = float(self.point.values[j])
            if cell == self.point.cells[j] and domain.holds(j, cell, own):
                values[j] = own
                continue
            near = own if not np.isnan(own) else self._ordinary(j)
            values[j] = domain.nearest(j, cell, near)
            if self.subject.space.axes[j].kind == "numeric" and domain.listed[j] is None:
                low, high = float(domain.lower[j][cell]), float(domain.upper[j][cell])
                values[j] = readable(float(values[j]), low, high, near)
                values[j] = _held_by(
                    self.row.values[self.subject.features[j].columns[0]], values[j], low, high
                )
        return values

    def _ordinary(self, j: int) -> float:
        """What a feature is as a rule: where a missing value is nearest to."""
        if self.subject.sample is None:
            return 0.0
        known = self.subject.sample[j][np.isfinite(self.subject.sample[j])]
        middle = float(np.median(known)) if len(known) else 0.0
        return middle if self.subject.space.axes[j].kind == "numeric" else float(np.rint(middle))

    def columns_at(self, values: Floats) -> dict[str, object]:
        """A value per column, in the types in which the user gave the row."""
        shown: dict[str, object] = {}
        for j, feature in enumerate(self.subject.features):
            for i, column in enumerate(feature.columns):
                before = self.row.values[column]
                if feature.kind == "one-hot":
                    value = float(values[j] == i)
                elif np.isnan(values[j]):
                    value = np.nan
                else:
                    value = feature.codes[int(values[j])] if feature.discrete else float(values[j])
                unchanged = values[j] == self.point.values[j] and feature.kind != "one-hot"
                shown[column] = before if unchanged else _typed(value, before)
        return {column: shown[column] for column in self.subject.columns}

    def wins(self, columns: Mapping[str, object], target: int) -> bool:
        """The model's last word: does this very row, as it is shown, go to the target class?"""
        matrix = matrix_of(self.subject.columns, columns)
        return bool(self.subject.reading.wins(matrix, target)[0])

    def decided_at(self, cells: Ints, domain: Domain) -> int:
        """The model's own decision at the values that are shown for cells."""
        columns = self.columns_at(self.values_at(cells, domain))
        return int(self.subject.reading.decide(matrix_of(self.subject.columns, columns))[0])

    def dissent(self, columns: Mapping[str, object] | None, place: str) -> tuple[str, ...]:
        """A note where the model's own predict says otherwise than the vote in force."""
        reading = self.subject.reading
        if reading.predict is None or columns is None:
            return ()
        matrix = matrix_of(self.subject.columns, columns)
        vote, own = (reading.classes[int(ask(matrix)[0])] for ask in (reading.decide, reading.predict))
        if vote == own:
            return ()
        return (f"the majority vote at this {place} is {vote!r}, but the model's own predict says {own!r}",)


def _sample(table: Table, features: tuple[Feature, ...]) -> tuple[Floats, ...]:
    """The data per feature: numbers, or codes of categories; NaN where missing or never declared."""
    sample = []
    for feature in features:
        block = np.stack([table.columns[column].astype(np.float64) for column in feature.columns])
        if feature.kind == "one-hot":
            values = np.where(block.sum(axis=0) == 1, np.argmax(block, axis=0), np.nan).astype(np.float64)
        elif feature.discrete:
            values = np.full(table.rows, np.nan)
            for number, code in enumerate(feature.codes):
                values[block[0] == code] = number
        else:
            values = block[0]
        sample.append(values)
    return tuple(sample)


def _held_by(before: object, value: float, low: float, high: float) -> float:
    """The value as the user's column holds it (float32, say), still inside its cell where it can be."""
    if not isinstance(before, np.floating) or before.dtype.itemsize >= 8:
        return value
    kind = type(before)
    nearest = kind(value)
    for held in (nearest, np.nextafter(nearest, kind(np.inf)), np.nextafter(nearest, kind(-np.inf))):
        if low <= float(held) <= high:
            return float(held)
    return value


def _typed(value: float, before: object) -> object:
    """A number in the type of the value it replaces, where this type can hold it."""
    if isinstance(before, (bool, int, np.bool_, np.integer)) and not np.isnan(value):
        kinds: tuple[Any, ...] = (type(before), int)
    elif isinstance(before, np.floating):
        kinds = (type(before),)
    else:
        kinds = ()
    for kind in kinds:
        try:
            held = kind(value)
        except (OverflowError, ValueError):
            continue
        if held == value or (np.isnan(value) and np.isnan(held)):
            return held
    return float(value)


def readable(value: float, low: float, high: float, near: float) -> float:
    """The decimal of fewest places next to an end of ``[low, high]``, within a millionth of the way.

    >>> readable(21.500000953674320, 21.500000953674320, 30.0, 20.0)
    21.50001
    >>> readable(5e-324, 5e-324, 1.0, -1.5)
    1e-06
    """
    if value == near or not np.isfinite(value):
        return value
    room = ROUND_TO * max(abs(value), abs(value - near))
    rounding = ROUND_CEILING if value > near else ROUND_FLOOR
    places = int(np.floor(np.log10(room))) if room > 0 else -17
    for place in range(places, places - 12, -1):
        short = float(Decimal(value).quantize(Decimal(1).scaleb(place), rounding, context=_DIGITS))
        if low <= short <= high:
            return short
    return value


def point_of(subject_space: Space, features: Sequence[Feature], values: Mapping[str, object]) -> Point:
    """The point of a row of columns; a value that fits no cell is refused with what would be right."""
    numbers = np.empty(len(features))
    cells = np.empty(len(features), dtype=np.int64)
    for j, feature in enumerate(features):
        axis = subject_space.axes[j]
        if feature.kind == "one-hot":
            numbers[j] = _group_member(feature, values)
        else:
            numbers[j] = _numeric(values[feature.columns[0]], feature.columns[0], feature)
            if feature.discrete and not np.isnan(numbers[j]):
                numbers[j] = _code(feature, float(numbers[j]))
        cells[j] = axis.cell_of(float(numbers[j]))
        if cells[j] < 0:
            raise InputError(_misfit(feature, float(numbers[j])))
    return Point(numbers, cells)


def _misfit(feature: Feature, value: float) -> str:
    if np.isnan(value):
        return f"column {feature.name!r} is missing (NaN), which this model does not take"
    if not feature.lower <= value <= feature.upper:
        bounds = f"{feature.lower:g} to {feature.upper:g}"
        return f"column {feature.name!r} is {value:g}, outside its declared bounds {bounds}"
    return (
        f"column {feature.name!r} is {value:g}, but whole numbers were seen in the data; if fractions are "
        f"legal, declare features={{{feature.name!r}: 'numeric'}}"
    )


def _code(feature: Feature, value: float) -> float:
    if value not in feature.codes:
        more = f"; if others are legal, declare features={{{feature.name!r}: 'numeric'}}"
        raise InputError(
            f"column {feature.name!r} is {value:g}, a category that was never seen; "
            f"they are {_coded(feature)}{more if feature.labels == (0, 1) else ''}"
        )
    return float(feature.codes.index(value))


def _coded(feature: Feature) -> str:
    """The codes of a feature's categories, each with its name."""
    return ", ".join(
        f"{code:g}" if code == label else f"{code:g} ({label})"
        for code, label in zip(feature.codes, feature.labels, strict=True)
    )


def _group_member(feature: Feature, values: Mapping[str, object]) -> float:
    flags = [_numeric(values[column], column) for column in feature.columns]
    if sorted(flags) != [0.0] * (len(flags) - 1) + [1.0]:
        shown = ", ".join(f"{column}={flag:g}" for column, flag in zip(feature.columns, flags, strict=True))
        raise InputError(
            f"one-hot group {feature.name!r}: exactly one column must be 1, the others 0; got {shown}"
        )
    return float(flags.index(1.0))


def _numeric(value: object, column: str, feature: Feature | None = None) -> float:
    value = plain(value)
    if value is None:
        return float("nan")
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            raise InputError(f"column {column!r} is too large: {value}") from None
    hint = "the model takes a number here"
    if feature is not None and feature.discrete and value in feature.labels:
        hint = f"give its code: {_coded(feature)}"
    raise InputError(f"column {column!r} is {value!r}; {hint}")


def matrix_of(
    columns: Sequence[str], values: Mapping[str, object], features: Sequence[Feature] = ()
) -> Floats:
    """A row as the model's own matrix; the features help to say what is wrong with it."""
    owner = {feature.columns[0]: feature for feature in features if len(feature.columns) == 1}
    row = [_numeric(values[column], column, owner.get(column)) for column in columns]
    for column, value in zip(columns, row, strict=True):
        if abs(value) > LARGEST:
            size = "infinite" if np.isinf(value) else f"{value:g}, which is larger than models take"
            raise InputError(f"column {column!r} is {size}")
    return np.array([row], dtype=np.float64)


def label_at(feature: Feature, value: float) -> Any:
    """A feature's value in the user's words: a category's label, a whole number, a number, missing."""
    if np.isnan(value):
        return None
    if feature.discrete:
        return feature.labels[int(value)]
    return int(value) if feature.kind == "integer" else float(value)
