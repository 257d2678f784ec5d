"""Space and domain: features cut into cells, and the cells that a user's conditions leave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Axis", "Domain", "Kind", "Point", "Space"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Kind = Literal["numeric", "integer", "category"]
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Axis:
    """One feature cut into cells.

    A cell of a number is a closed interval ``[lower, upper]`` of the values that a user may legally
    hold (whole numbers on an integer axis), so that an open end such as ``x > 21.5`` is already
    turned into the least double that the model sends to the other side.  A cell of a category is
    one label; its ``lower`` and ``upper`` are its code.  ``thresholds`` are the model's own, for
    reading: cell ``i`` lies in ``(above[i], up_to[i]]``.  Where the model routes missing values and
    the user may hold them, the last cell is the missing one, with NaN for its bounds.
    """

    name: str
    kind: Kind
    lower: Floats
    upper: Floats
    above: Floats
    up_to: Floats
    labels: tuple[object, ...] = ()
    missing: bool = False

    @property
    def size(self) -> int:
        """The number of cells, the missing one included.

        >>> Axis.category("race", ["white", "black", "asian"]).size
        3
        """
        return len(self.lower)

    @property
    def values(self) -> int:
        """The number of cells that hold values: all but the missing one."""
        return self.size - self.missing

    @classmethod
    def category(cls, name: str, labels: Iterable[object], missing: bool = False) -> Axis:
        """An axis with one cell per label (codes 0, 1, ...)."""
        shown = tuple(labels)
        codes = np.arange(len(shown), dtype=np.float64)
        codes = np.append(codes, np.nan) if missing else codes
        return cls(name, "category", codes, codes, codes, codes, shown, missing)

    @classmethod
    def number(
        cls,
        name: str,
        edges: Iterable[float],
        thresholds: Iterable[float] | None = None,
        integer: bool = False,
        missing: bool = False,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> Axis:
        """An axis cut at ``edges``: the greatest doubles on the left side of each threshold.

        A cell in which no legal value lies does not exist.

        >>> Axis.number("age", [19.2, 19.9, 30.5], integer=True).size
        3
        """
        cuts = np.asarray(list(edges), dtype=np.float64)
        shown = cuts if thresholds is None else np.asarray(list(thresholds), dtype=np.float64)
        real = np.isfinite(cuts)  # a threshold of infinity only parts the missing from the rest
        cuts, shown = cuts[real], shown[real]
        lower = np.concatenate([[-np.inf], np.nextafter(cuts, np.inf)])
        upper = np.concatenate([cuts, [np.inf]])
        above = np.concatenate([[-np.inf], shown])
        up_to = np.concatenate([shown, [np.inf]])
        if integer:
            lower, upper = np.ceil(lower), np.floor(upper)
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        kept = lower <= upper
        lower, upper, above, up_to = lower[kept], upper[kept], above[kept], up_to[kept]
        if missing:
            lower, upper, above, up_to = (np.append(a, np.nan) for a in (lower, upper, above, up_to))
        kind: Kind = "integer" if integer else "numeric"
        return cls(name, kind, lower, upper, above, up_to, (), missing)

    def cut(self, edge: float) -> int:
        """How many cells lie on the left of an edge: the rule ``x <= edge`` holds on cells below it.

        >>> Axis.number("age", [19.2, 19.9, 30.5], integer=True).cut(19.9)
        1
        """
        return int(np.searchsorted(self.upper[: self.values], edge, side="right"))

    def cell_of(self, value: float) -> int:
        """The cell of a number (a code on a category axis), or -1 where there is none."""
        if np.isnan(value):
            return self.size - 1 if self.missing else -1
        cell = int(np.searchsorted(self.upper[: self.values], value, side="left"))
        inside = cell < self.values and self.lower[cell] <= value
        if not inside or (self.kind == "integer" and value != np.floor(value)):
            return -1
        return cell

    def cells_of(self, values: Floats) -> Ints:
        """The cells of many numbers (codes on a category axis), -1 where there is none.

        >>> Axis.number("age", [19.5, 30.5]).cells_of(np.array([18.0, 40.0, np.nan])).tolist()
        [0, 2, -1]
        """
        cells = np.searchsorted(self.upper[: self.values], values, side="left")
        inside = cells < self.values
        inside[inside] = self.lower[cells[inside]] <= values[inside]
        found: Ints = np.where(inside, cells, -1)
        return np.where(np.isnan(values), self.size - 1 if self.missing else -1, found)


@dataclass(frozen=True, eq=False)
class Space:
    """All features with their cells: what a point can be.

    >>> Space((Axis.category("sex", ["female", "male"]), Axis.number("age", [21.5, 30.5]))).count
    6
    """

    axes: tuple[Axis, ...]

    @property
    def sizes(self) -> Ints:
        """The number of cells of each feature."""
        return np.array([axis.size for axis in self.axes], dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def count(self) -> int:
        """How many combinations of cells there are."""
        return int(np.prod([int(n) for n in self.sizes], dtype=object))

    def everything(self) -> Domain:
        """The domain with no cell struck out."""
        return Domain(
            tuple(np.ones(axis.size, dtype=np.bool_) for axis in self.axes),
            tuple(axis.lower for axis in self.axes),
            tuple(axis.upper for axis in self.axes),
            (None,) * len(self.axes),
        )


@dataclass(frozen=True, eq=False)
class Point:
    """A point with its cells: per feature a number, or the code of a category; NaN is missing."""

    values: Floats
    cells: Ints


@dataclass(frozen=True, eq=False)
class Domain:
    """The cells that are left, and within each cell the values that may be shown.

    A bound that falls inside a cell keeps the cell and clips its values; ``listed`` are the only
    values that may be shown, where the user gave a list.
    """

    allowed: tuple[Bools, ...]
    lower: tuple[Floats, ...]
    upper: tuple[Floats, ...]
    listed: tuple[Floats | None, ...]

    @property
    def empty(self) -> tuple[int, ...]:
        """The features of which no cell is left."""
        return tuple(j for j, mask in enumerate(self.allowed) if not mask.any())

    @property
    def count(self) -> int:
        """How many combinations of cells are left."""
        return int(np.prod([int(mask.sum()) for mask in self.allowed], dtype=object))

    def keep(self, feature: int, cells: Bools) -> Domain:
        """The domain in which a feature may only be in the given cells (a mask).

        >>> space = Space((Axis.category("sex", ["female", "male"]),))
        >>> space.everything().keep(0, np.array([True, False])).count
        1
        """
        return replace(self, allowed=_put(self.allowed, feature, self.allowed[feature] & cells))

    def clip(self, feature: int, axis: Axis, low: float = -np.inf, high: float = np.inf) -> Domain:
        """The domain in which a number lies in ``[low, high]``; missing is no number."""
        if axis.kind == "integer":
            low, high = np.ceil(low), np.floor(high)
        lower = np.maximum(self.lower[feature], low)
        upper = np.minimum(self.upper[feature], high)
        kept = lower <= upper  # NaN bounds of the missing cell compare false
        listed = self.listed[feature]
        if listed is not None:
            kept &= np.array(
                [bool(np.any((listed >= a) & (listed <= b))) for a, b in zip(lower, upper, strict=True)]
            )
        clipped = replace(
            self,
            lower=_put(self.lower, feature, lower),
            upper=_put(self.upper, feature, upper),
        )
        return clipped.keep(feature, kept)

    def only(self, feature: int, axis: Axis, values: Iterable[float]) -> Domain:
        """The domain in which a number is one of the given values."""
        wanted = np.unique(np.asarray(list(values), dtype=np.float64))
        if axis.kind == "integer":
            wanted = wanted[wanted == np.floor(wanted)]
        known = self.listed[feature]
        listed = wanted if known is None else np.intersect1d(known, wanted)
        return replace(self, listed=_put(self.listed, feature, listed)).clip(feature, axis)

    def pin(self, feature: int, axis: Axis, cell: int, value: float | None = None) -> Domain:
        """The domain in which a feature stays in one cell, at one value where one is given."""
        mask = np.zeros(len(self.allowed[feature]), dtype=np.bool_)
        mask[cell] = True
        pinned = self.keep(feature, mask)
        if value is None or np.isnan(value) or axis.kind == "category":
            return pinned
        return pinned.clip(feature, axis, value, value)

    def holds(self, feature: int, cell: int, value: float) -> bool:
        """Whether a value of a cell may be shown."""
        if not self.allowed[feature][cell]:
            return False
        if np.isnan(value):
            return bool(np.isnan(self.lower[feature][cell]))
        listed = self.listed[feature]
        if listed is not None and value not in listed:
            return False
        return bool(self.lower[feature][cell] <= value <= self.upper[feature][cell])

    def nearest(self, feature: int, cell: int, value: float) -> float:
        """The value of a cell that lies nearest to a given one (NaN in the missing cell).

        From a missing value every cell is as near as another: its most ordinary value is taken.
        """
        low, high = float(self.lower[feature][cell]), float(self.upper[feature][cell])
        if np.isnan(low):
            return float("nan")
        if np.isnan(value):
            value = 0.0
        listed = self.listed[feature]
        if listed is not None:
            inside = listed[(listed >= low) & (listed <= high)]
            return float(inside[np.argmin(np.abs(inside - value))])
        return min(max(value, low), high)


def _put(values: tuple[_T, ...], index: int, value: _T) -> tuple[_T, ...]:
    return (*values[:index], value, *values[index + 1 :])
