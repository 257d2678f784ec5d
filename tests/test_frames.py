"""Rows and tables of every kind go in, and the same kind comes out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from polyflip.errors import InputError
from polyflip.frames import read_row, read_table, to_frame

NAMES = ("a", "b")


@pytest.mark.parametrize(
    "data",
    [
        {"a": [1, 2], "b": [0.5, 1.5]},
        pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        np.array([[1, 0.5], [2, 1.5]]),
        [[1, 0.5], [2, 1.5]],
    ],
)
def test_tables(data):
    table = read_table(data, NAMES)
    assert table.names == NAMES
    assert table.columns["b"].tolist() == [0.5, 1.5]
    assert table.rows == 2
    assert read_table(table) is table


@pytest.mark.parametrize(
    "x",
    [
        {"b": 0.5, "a": 1},
        pd.Series({"b": 0.5, "a": 1}),
        pd.Series([1, 0.5]),
        pd.DataFrame({"b": [0.5], "a": [1]}),
        pl.DataFrame({"b": [0.5], "a": [1]}),
        pl.Series([1.0, 0.5]),
        np.array([1, 0.5]),
        np.array([[1, 0.5]]),
        [1, 0.5],
        (1, 0.5),
    ],
)
def test_rows(x):
    row = read_row(x, NAMES)
    assert list(row.values) == ["a", "b"]
    assert [float(v) for v in row.values.values()] == [1.0, 0.5]
    assert read_row(row, NAMES) is row


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1], "takes 2"),
        ([1, 2, 3], "takes 2"),
        ([[1, 2], [3, 4]], "2 rows"),
        (np.zeros((1, 1, 2)), "takes 2"),
        (pd.DataFrame({"a": [1, 2], "b": [1, 2]}), "2 rows"),
        ({"a": 1}, "no value for 'b'"),
        ({"a": 1, "b": 2, "c": 3}, "no column 'c'"),
        (object(), "cannot be read"),
        (3, "takes 2"),
        ("ab", "takes 2"),
    ],
)
def test_rows_that_do_not_fit(x, message):
    with pytest.raises(InputError, match=message):
        read_row(x, NAMES)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1], "b": [1, 2]}, "different lengths"),
        ({"a": [[1]]}, "one dimension"),
        ([1, 2], "rows and columns"),
        ([[1, 2, 3]], "takes 2"),
        (object(), "cannot be read"),
    ],
)
def test_tables_that_do_not_fit(data, message):
    with pytest.raises(InputError, match=message):
        read_table(data, NAMES)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_come_back_in_kind_with_their_types(library):
    frame = library.DataFrame({"a": [1], "b": [0.5]})
    back = to_frame([{"a": 3, "b": 1.5}], NAMES, read_row(frame, NAMES))
    assert isinstance(back, library.DataFrame)
    assert [str(t) for t in back.dtypes] == [str(t) for t in frame.dtypes]
    assert len(to_frame([], NAMES, read_row(frame, NAMES))) == 0


def test_whole_columns_that_must_hold_a_fraction_become_floats():
    frame = pd.DataFrame({"a": [1], "b": [0.5]})
    back = to_frame([{"a": 3.5, "b": 1.5}], NAMES, read_row(frame, NAMES))
    assert back["a"][0] == 3.5


def test_arrays_come_back_as_the_installed_kind():
    assert isinstance(to_frame([{"a": 1, "b": 2.0}], NAMES, read_row([1, 2], NAMES)), pd.DataFrame)


@pytest.mark.filterwarnings("error")
def test_a_lazy_frame_is_refused_without_a_warning_of_its_library():
    lazy = pl.DataFrame({"a": [1], "b": [0.5]}).lazy()
    with pytest.raises(InputError, match=r"x: LazyFrame.*collect"):
        read_row(lazy, NAMES)
    with pytest.raises(InputError, match=r"data: LazyFrame.*collect"):
        read_table(lazy, NAMES)
