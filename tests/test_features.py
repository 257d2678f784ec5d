"""What features are inferred to be, and how a declaration overrides it."""

import numpy as np
import pytest

from polyflip import Feature, FeatureError
from polyflip.features import declare
from polyflip.frames import read_table


def kinds(data, declared=None):
    table = read_table(data)
    return {f.name: f.kind for f in declare(table.names, table, declared)}


def test_kinds_are_inferred():
    data = {
        "height": [1.5, 2.0],
        "age": [20, 30],
        "whole": [1.0, 7.0],
        "flag": [0, 1],
        "truth": [True, False],
        "constant": [3, 3],
        "always": [1, 1],
        "gap": [1.0, np.nan],
        "hole": [np.nan, 2.5],
    }
    assert kinds(data) == {
        "height": "numeric",
        "age": "integer",
        "whole": "integer",
        "flag": "binary",
        "truth": "binary",
        "constant": "integer",
        "always": "binary",
        "gap": "binary",
        "hole": "numeric",
    }


def test_missing_is_seen_in_the_data():
    table = read_table({"a": [1.5, np.nan], "b": [1.5, 2.5]})
    assert [f.missing for f in declare(table.names, table)] == [True, False]


def test_one_hot_group_is_found_by_prefix_and_sum():
    data = {"race_white": [1, 0, 0], "age": [3, 4, 5], "race_black": [0, 1, 0], "race_other": [0, 0, 1]}
    table = read_table(data)
    race, age = declare(table.names, table)
    assert (race.name, race.kind, race.labels) == ("race", "one-hot", ("white", "black", "other"))
    assert race.columns == ("race_white", "race_black", "race_other")
    assert age.name == "age"


@pytest.mark.parametrize(
    "data",
    [
        {"a_x": [1, 0], "a_y": [1, 1]},  # do not sum to one
        {"a_x": [1, 0], "b_y": [0, 1]},  # no common prefix
        {"a_x": [2, 0], "a_y": [0, 1]},  # not 0/1
        {"a": [1, 2], "a_x": [1, 0], "a_y": [0, 1]},  # the name is taken
    ],
)
def test_no_group_where_there_is_none(data):
    assert "one-hot" not in kinds(data).values()


def test_declaration_overrides():
    data = {"a": [0, 1], "b": [1, 2], "c_x": [1, 0], "c_y": [0, 1]}
    declared = {"a": "numeric", "b": {"kind": "category", "changes": "up"}, "c_x": "binary"}
    assert kinds(data, declared) == {"a": "numeric", "b": "category", "c_x": "binary", "c_y": "binary"}


def test_a_group_may_be_given_bounds_by_its_name():
    table = read_table({"race_a": [1, 0], "race_b": [0, 1]})
    (race,) = declare(table.names, table, [Feature("race", changes="never")])
    assert (race.kind, race.changes) == ("one-hot", "never")


def test_group_without_data():
    group = Feature("race", "one-hot", columns=("r1", "r2"), categories=("a", "b"))
    features = declare(["r1", "age", "r2"], None, [group])
    assert [f.name for f in features] == ["race", "age"]
    assert declare(
        ["race_a", "race_b"], None, {"race": {"kind": "one-hot", "columns": ["race_a", "race_b"]}}
    )[0].labels == ("a", "b")


def test_categories_with_names_for_their_codes():
    sex = declare(["sex"], None, [Feature("sex", "binary", categories={0: "f", 1: "m"})])[0]
    assert (sex.labels, sex.codes) == (("f", "m"), (0.0, 1.0))
    assert sex.order("m") == 1.0


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"a": "number"}, "choose one of"),
        ({"a": {"changes": "sideways"}}, "choose one of"),
        ({"a": {"lower": 3, "upper": 2}}, "lies above"),
        ({"a": {"weight": -1}}, "weight"),
        ({"a": {"values": []}}, "empty"),
        ({"a": {"values": "abc"}}, "give a list"),
        ({"a": {"values": ["x"]}}, "not a number"),
        ({"a": {"colour": 1}}, "not known"),
        ({"a": 3}, "give a Feature"),
        ([3], "Feature objects"),
        ([Feature("a"), Feature("a")], "twice"),
        ({"zzz": "numeric"}, "neither a column"),
        ({"a": {"kind": "binary", "categories": ["x", "y"]}}, "say which"),
        ({"a": {"kind": "category", "categories": [1, 1]}}, "twice"),
        ({"g": {"kind": "one-hot", "columns": ["a"]}}, "two or more"),
        ({"g": {"kind": "one-hot", "columns": ["a", "q"]}}, "unknown"),
        ({"g": {"kind": "one-hot", "columns": ["a", "b"], "categories": ["x"]}}, "categories"),
        ({"c": {"kind": "one-hot", "columns": ["a", "b"]}}, "already"),
        ({"g": {"kind": "one-hot", "columns": "ab"}}, "give a list"),
        ({"g": {"kind": "one-hot", "columns": ["a", "b"]}, "a": "numeric"}, "is a column of the group"),
        ({"g": {"kind": "one-hot", "columns": ["a", "b"], "changes": "up"}}, "no order"),
    ],
)  # fmt: skip
def test_contradictions_are_errors(declared, message):
    table = read_table({"a": [1, 0, 2], "b": [0, 1, 3], "c": [1.5, 2.5, 0.5]})
    with pytest.raises(FeatureError, match=message):
        declare(table.names, table, declared)


def test_text_where_the_model_takes_numbers():
    table = read_table({"a": ["x", "y"]})
    with pytest.raises(FeatureError, match="holds 'x'"):
        declare(table.names, table)


def test_category_needs_categories_or_data():
    with pytest.raises(FeatureError, match="name its categories"):
        declare(["a"], None, {"a": "category"})


def test_repr_says_what_differs():
    assert repr(Feature("age", "integer", upper=9.0)) == "Feature(name='age', kind='integer', upper=9.0)"


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"income": "binary"}, "'income'.*binary.*0, 1.*2"),
        ({"income": "integer"}, "'income'.*whole numbers.*2.5"),
        ({"income": {"categories": {2: "low", 4: "high"}}}, "'income'.*2, 4.*2.5"),
        ({"age": {"kind": "category", "categories": [20, 30]}}, "'age'.*20, 30.*40"),
        ({"age": Feature("age", "binary")}, "'age'.*0, 1.*20"),
        (
            {"race": {"kind": "one-hot", "columns": ["w", "b"]}},
            "'race'.*exactly one.*row 1.*w=1, b=1",
        ),
    ],
)
def test_a_declaration_that_the_data_contradicts(declared, message):
    data = {"income": [2.0, np.nan, 2.5], "age": [20, 30, 40], "w": [1, 1, 0], "b": [0, 1, 1]}
    with pytest.raises(FeatureError, match=message):
        kinds(data, declared)


def test_a_declaration_that_the_data_bears_out():
    data = {"income": [2.0, np.nan, 4.0], "age": [20, 30, 40], "w": [1, 1, np.nan], "b": [0, 0, 1]}
    declared = {
        "income": "integer",
        "age": {"kind": "category", "categories": [20, 30, 40, 50]},
        "race": {"kind": "one-hot", "columns": ["w", "b"]},
    }
    assert kinds(data, declared) == {"income": "integer", "age": "category", "race": "one-hot"}
    assert kinds(data, {"income": "category"})["income"] == "category"
