"""Rows and tables in the user's own kind (pandas, polars, arrays, mappings), read and given back."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt

from polyflip.errors import InputError

__all__ = ["Row", "Rows", "Table", "plain", "read_csv", "read_row", "read_table", "to_frame"]

Column = npt.NDArray[Any]
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, and the kind of frame they came in (None for arrays and mappings)."""

    columns: dict[str, Column]
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    backend: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.columns)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0


@dataclass(frozen=True, eq=False)
class Row:
    """One row: a value per column, and the kind of frame it came in."""

    values: dict[str, object]
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    backend: Any = None
    labels: Mapping[str, object] = field(default_factory=dict, repr=False)
    index: Any = field(default=None, repr=False)


def read_table(data: Any, names: Sequence[str] | None = None) -> Table:
    """A table from a pandas or polars frame, a mapping of columns, or a two-dimensional array.

    >>> read_table({"age": [20, 30]}).names
    ('age',)
    >>> read_table([[1.0, 2.0]]).names
    ('x1', 'x2')
    """
    if isinstance(data, Table):
        return data
    data = _plainly_named(data, "data")
    if isinstance(data, Mapping):
        columns = {str(name): _values(column) for name, column in data.items()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"data: the columns have different lengths: {lengths}")
        return Table(columns)
    if nw.dependencies.is_into_dataframe(data):
        frame = nw.from_native(data, eager_only=True)
        columns = {str(name): _values(frame[name].to_numpy()) for name in frame.columns}
        return Table(columns, dict(frame.schema), frame.implementation)
    array = _array(data, "data")
    if array.ndim != 2:
        raise InputError(f"data: a table has rows and columns; this has {array.ndim} dimension(s)")
    return Table({name: array[:, i] for i, name in enumerate(_named(names, array.shape[1], "data"))})


def read_row(x: Any, names: Sequence[str]) -> Row:
    """One row from a one-row frame, a Series, a mapping or a flat array in the columns' order."""
    if isinstance(x, Row):
        return x
    labels = {str(label): label for label in _labels(x)}
    x = _plainly_named(x, "x")
    if isinstance(x, Mapping):
        return Row(_complete({str(k): v for k, v in x.items()}, names))
    if nw.dependencies.is_into_dataframe(x):
        table = read_table(x)
        if table.rows != 1:
            raise InputError(f"x: one row is explained at a time; this frame has {table.rows} rows")
        values = {name: column[0] for name, column in table.columns.items()}
        return Row(_complete(values, names), table.schema, table.backend, labels, getattr(x, "index", None))
    if hasattr(x, "index") and hasattr(x, "to_dict"):  # a pandas Series: its index names the columns
        given = {str(k): v for k, v in x.to_dict().items()}
        if not set(given) & set(names) and len(given) == len(names):
            given = dict(zip(names, given.values(), strict=True))
        return Row(_complete(given, names))
    if hasattr(x, "to_list") and not isinstance(x, np.ndarray):
        x = x.to_list()
    array = _array(x, "x")
    if array.ndim == 2 and len(array) != 1:
        raise InputError(f"x: one row is explained at a time; this array has {len(array)} rows")
    flat = array.reshape(-1) if array.ndim in (1, 2) else array
    if flat.ndim != 1 or len(flat) != len(names):
        raise InputError(
            f"x: {flat.size} values were given, but the model takes {len(names)}: {_listed(names)}"
        )
    return Row(dict(zip(names, flat.tolist() if flat.dtype == object else list(flat), strict=True)))


class Rows:
    """Many rows, each made when it is asked for.

    >>> rows = Rows.of({"age": [20, 30], "sex": [0, 1]}, ["age", "sex"])
    >>> len(rows), plain(rows.row(1).values["age"])
    (2, 30)
    """

    def __init__(self, count: int, row: Callable[[int], Row]) -> None:
        self.count, self.row = count, row

    def __len__(self) -> int:
        """The number of rows."""
        return self.count

    @classmethod
    def of(cls, rows: Any, names: Sequence[str]) -> Rows:
        """The rows of a frame, a mapping of columns or a two-dimensional array, or a list of single rows."""
        if isinstance(rows, Mapping) or hasattr(rows, "shape") or nw.dependencies.is_into_dataframe(rows):
            return cls._of_table(rows, names)
        if isinstance(rows, str) or not isinstance(rows, Iterable):
            raise InputError(f"X: give a table or a list of rows, not {type(rows).__name__}")
        read = []
        for i, row in enumerate(rows):
            try:
                read.append(read_row(row, names))
            except InputError as error:
                raise InputError(f"row {i}: {error}") from error
        return cls(len(read), read.__getitem__)

    @classmethod
    def _of_table(cls, rows: Any, names: Sequence[str]) -> Rows:
        labels = {str(label): label for label in _labels(rows)}
        table = read_table(rows, names)
        columns = _complete(table.columns, names)
        index = getattr(rows, "index", None) if labels else None

        def row(i: int) -> Row:
            place = None if index is None else index[i : i + 1]
            values: dict[str, object] = {name: column[i] for name, column in columns.items()}
            return Row(values, table.schema, table.backend, labels, place)

        return cls(table.rows, row)


def read_csv(path: str | Path, names: Sequence[str]) -> Table:
    """The named columns of a CSV file with a head; numbers where all values of a column are."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            absent = [name for name in names if name not in (lines.fieldnames or ())]
            if absent:
                raise InputError(f"{str(path)!r} has no column {_listed(absent)}")
            rows = [[line[name] for name in names] for line in lines]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{str(path)!r} cannot be read as CSV: {error}") from error
    return Table({name: _numbers([row[i] for row in rows]) for i, name in enumerate(names)})


def _numbers(texts: Sequence[str | None]) -> Column:
    """Texts as numbers where all of them are (an empty one is missing), else as they are."""
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return np.array(texts, dtype=object)


def to_frame(values: Sequence[Mapping[str, object]], names: Sequence[str], like: Row) -> Any:
    """Rows as a frame of the kind that the user gave; pandas or polars for arrays and mappings."""
    columns = {name: [row[name] for row in values] for name in names}
    backend: Any = like.backend if like.backend is not None else _installed()
    frame = nw.from_dict(columns, backend=backend)
    schema = like.schema if like.schema is not None and values else {}
    for name in schema:
        frame = _cast_where_it_fits(frame, name, columns[name], schema)
    native = frame.to_native()
    if like.index is not None and len(like.index) == len(values):
        native.index = like.index
    if any(not isinstance(label, str) for label in like.labels.values()):
        native.columns = [like.labels.get(name, name) for name in names]
    return native


def _cast_where_it_fits(frame: Any, name: str, values: Sequence[object], schema: Mapping[str, Any]) -> Any:
    """A column in the user's own type, unless this changes a value: then it stays wider."""
    try:
        cast = frame.with_columns(nw.col(name).cast(schema[name]))
        back = [plain(value) for value in cast[name].to_list()]
    except Exception:  # each library has errors of its own for a cast that cannot be
        return frame
    same = all(a == b or (a is None and b is None) for a, b in zip(back, map(plain, values), strict=True))
    return cast if same else frame


def plain(value: object) -> object:
    """A value as plain Python, for JSON and for printing: numpy scalars unwrapped, NaN as None.

    >>> plain(np.float64(2.5)), plain(np.nan), plain(np.str_("a"))
    (2.5, None, 'a')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if _is_missing(value):
        return None
    if isinstance(value, float) and np.isnan(value):
        return None
    return value


def _installed() -> str:
    import importlib.util

    for package in ("pandas", "polars", "pyarrow"):
        if importlib.util.find_spec(package):
            return package
    raise InputError("to_frame() needs pandas or polars; to_dict() and to_json() need neither")


def _array(data: Any, what: str) -> Column:
    lazy = ": collect() it first" if hasattr(data, "collect") else ""
    refusal = f"{what}: {type(data).__name__} cannot be read as a row or a table{lazy}"
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as error:
        raise InputError(refusal) from error
    if (array.dtype.kind == "O" and array.ndim == 0) or array.dtype.kind in "cMmV":
        raise InputError(refusal)
    return array


def _values(column: Any) -> Column:
    """A column as an array; objects that are all numbers (or missing) become numbers."""
    array = np.asarray(column)
    if array.ndim != 1:
        raise InputError(f"data: a column has one dimension, this one has {array.ndim}")
    if array.dtype == object and len(array):
        values = [np.nan if _is_missing(value) else value for value in array.tolist()]
        if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values):
            return np.asarray(values)
    return array


def _is_missing(value: object) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _labels(data: Any) -> Any:
    """The names of a frame's columns; nothing for what is no frame (a lazy one warns when it is asked)."""
    if isinstance(data, Mapping) or not nw.dependencies.is_into_dataframe(data):
        return ()
    return getattr(data, "columns", ())


def _plainly_named(data: Any, what: str) -> Any:
    """A frame whose columns are named by text, each once: numbers as names become text."""
    labels = _labels(data)
    if not len(labels):
        return data
    names = [str(label) for label in labels]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{what}: the column {twice[0]!r} stands there {names.count(twice[0])} times")
    if any(isinstance(label, tuple) for label in labels):
        raise InputError(f"{what}: columns have one name each, these have several levels")
    return data if all(isinstance(label, str) for label in labels) else data.set_axis(names, axis=1)


def _named(names: Sequence[str] | None, width: int, what: str) -> list[str]:
    if names is None:
        return [f"x{i + 1}" for i in range(width)]
    if len(names) != width:
        raise InputError(
            f"{what}: {width} columns were given, but the model takes {len(names)}: {_listed(names)}"
        )
    return list(names)


def _complete(values: Mapping[str, _T], names: Sequence[str]) -> dict[str, _T]:
    missing = [name for name in names if name not in values]
    if missing:
        raise InputError(f"x: no value for {_listed(missing)}; the model takes {_listed(names)}")
    unknown = [name for name in values if name not in names]
    if unknown:
        raise InputError(f"x: the model has no column {_listed(unknown)}; it takes {_listed(names)}")
    return {name: values[name] for name in names}


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
