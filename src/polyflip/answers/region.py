"""Regions and changes: a cell read back as an interval or a set of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyflip.answers.case import Case, label_at
from polyflip.core import Domain
from polyflip.core.space import Floats, Ints

__all__ = ["Change", "Interval", "Values", "changes_between", "region_of", "shown"]


@dataclass(frozen=True)
class Interval:
    """All numbers from ``lower`` to ``upper``, both included; ``text`` says it in the model's thresholds.

    A threshold is compared as the model compares it: ``> 21.5`` holds for what is above 21.5 after
    the model's cast to float32, and ``lower`` is the least double for which it does.

    >>> 30 in Interval(22.0, float("inf"), ">= 22")
    True
    """

    lower: float
    upper: float
    text: str

    def __contains__(self, value: object) -> bool:
        """Whether a number lies in the interval."""
        return isinstance(value, (int, float, np.number)) and bool(self.lower <= value <= self.upper)

    def __str__(self) -> str:
        """The interval in words."""
        return self.text

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON; an open end is None."""
        ends = [end if np.isfinite(end) else None for end in (self.lower, self.upper)]
        return {"lower": ends[0], "upper": ends[1], "text": self.text}


@dataclass(frozen=True)
class Values:
    """A set of values: categories, listed numbers, or missing (None)."""

    values: tuple[object, ...]

    def __contains__(self, value: object) -> bool:
        """Whether a value is one of them."""
        return value in self.values

    def __str__(self) -> str:
        """The values in words."""
        return " or ".join(shown(value) for value in self.values)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {"values": list(self.values), "text": str(self)}


@dataclass(frozen=True)
class Change:
    """One feature that changes: from what, to what, and how far it must at least go."""

    feature: str
    before: object
    after: object
    must: str
    unit: str = ""

    def __str__(self) -> str:
        """The change in words.

        >>> str(Change("age", 33, 22, "> 21.5"))
        'age: 33 -> 22 (> 21.5)'
        """
        unit = f" {self.unit}" if self.unit else ""
        reason = f" ({self.must})" if self.must != shown(self.after) else ""
        return f"{self.feature}: {shown(self.before)} -> {shown(self.after)}{unit}{reason}"

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "feature": self.feature,
            "before": self.before,
            "after": self.after,
            "must": self.must,
            "unit": self.unit,
        }


def shown(value: object) -> str:
    """A value as it is printed."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        short = f"{value:.10g}"
        return short if float(short) == value else repr(value)
    return str(value)


def _threshold(value: float) -> str:
    """A threshold as one writes it: the shortest decimal that float32 does not tell from it.

    >>> _threshold(3.0499999523162842)
    '3.05'
    """
    for digits in range(1, 17 if np.isfinite(value) else 0):
        short = f"{value:.{digits}g}"
        if abs(float(short) - value) <= 2.0**-24 * abs(value):
            return f"{float(short):.15g}"
    return repr(float(value))


def region_of(case: Case, cells: Ints, domain: Domain) -> dict[str, Interval | Values]:
    """Per feature the values that may be exchanged without leaving the cell: the paper's infinite set."""
    return {
        feature.name: _part(case, j, int(cells[j]), domain) for j, feature in enumerate(case.subject.features)
    }


def _part(case: Case, j: int, cell: int, domain: Domain) -> Interval | Values:
    feature, axis = case.subject.features[j], case.subject.space.axes[j]
    low, high = float(domain.lower[j][cell]), float(domain.upper[j][cell])
    if np.isnan(low) or feature.discrete:
        return Values((label_at(feature, low),))
    listed = domain.listed[j]
    if listed is not None:
        inside = listed[(listed >= low) & (listed <= high)]
        return Values(tuple(label_at(feature, float(value)) for value in inside))
    # an end that is not the model's threshold is the user's own, and included
    clipped = (
        low > axis.lower[cell] or np.isinf(axis.above[cell]),
        high < axis.upper[cell] or np.isinf(axis.up_to[cell]),
    )
    return Interval(low, high, _words(case, j, cell, low, high, clipped))


def _words(case: Case, j: int, cell: int, low: float, high: float, clipped: tuple[bool, bool]) -> str:
    axis = case.subject.space.axes[j]
    if low == high:
        return f"{low:.15g}"
    if axis.kind == "integer":
        if np.isinf(low) or np.isinf(high):
            return "any" if low == -high else f">= {low:.15g}" if np.isinf(high) else f"<= {high:.15g}"
        return f"{low:.15g} to {high:.15g}"
    least = f">= {low:.15g}" if clipped[0] else f"> {_threshold(axis.above[cell])}"
    most = f"<= {high:.15g}" if clipped[1] else f"<= {_threshold(axis.up_to[cell])}"
    if np.isinf(low) or np.isinf(high):
        return "any" if low == -high else least if np.isinf(high) else most
    return f"{least} and {most}"


def changes_between(case: Case, values: Floats, cells: Ints, domain: Domain) -> tuple[Change, ...]:
    """The features whose value differs, each with the threshold that it must at least pass."""
    changes = []
    for j, feature in enumerate(case.subject.features):
        before, after = float(case.point.values[j]), float(values[j])
        if before == after or (np.isnan(before) and np.isnan(after)):
            continue
        must = _must(case, j, int(cells[j]), before, after, domain)
        changes.append(
            Change(feature.name, label_at(feature, before), label_at(feature, after), must, feature.unit)
        )
    return tuple(changes)


def _must(case: Case, j: int, cell: int, before: float, after: float, domain: Domain) -> str:
    """The nearer end of the cell, as the model's threshold: what the paper prints.

    Where a condition of the user's goes farther than the threshold, the value itself says it.
    """
    feature, axis = case.subject.features[j], case.subject.space.axes[j]
    if feature.discrete or np.isnan(before) or np.isnan(after) or cell == case.point.cells[j]:
        return shown(label_at(feature, after))
    up = after > before
    end, own = (domain.lower, axis.lower) if up else (domain.upper, axis.upper)
    if end[j][cell] != own[cell] or domain.listed[j] is not None:
        return shown(label_at(feature, after))
    return f"> {_threshold(axis.above[cell])}" if up else f"<= {_threshold(axis.up_to[cell])}"
