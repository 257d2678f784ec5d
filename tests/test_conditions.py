"""The user's words: what they mean, and errors that point at the word."""

import numpy as np
import pytest

from polyflip import ConditionError, Feature
from polyflip.conditions import clashing, domain_of, parse, restrict
from polyflip.core import Axis, Point, Space

FEATURES = (
    Feature("age", "integer", columns=("age",)),
    Feature("lsat score", "numeric", columns=("lsat score",)),
    Feature("race", "one-hot", categories=("white", "black"), columns=("race_white", "race_black")),
    Feature("sex", "binary", categories=("f", "m"), codes=(0.0, 1.0), columns=("sex",)),
    Feature("grade", "category", categories=(1, 2, 3), codes=(1.0, 2.0, 3.0), columns=("grade",)),
)
SPACE = Space(
    (
        Axis.number("age", [20.5, 25.5, 40.5], integer=True),
        Axis.number("lsat score", [10.0, 20.0]),
        Axis.category("race", ("white", "black")),
        Axis.category("sex", ("f", "m")),
        Axis.category("grade", (1, 2, 3)),
    )
)
POINT = Point(np.array([30.0, 15.0, 0.0, 1.0, 1.0]), np.array([2, 1, 0, 1, 1]))


def left(where):
    """The cells that a text leaves, per feature, as lists."""
    domain = domain_of(SPACE, FEATURES, POINT)
    for condition in parse(where, FEATURES):
        domain = restrict(domain, SPACE, FEATURES, POINT, condition)
    return domain


@pytest.mark.parametrize(
    ("text", "feature", "cells"),
    [
        ("age > 25", 0, [2, 3]),
        ("age >= 25", 0, [1, 2, 3]),
        ("25 < age", 0, [2, 3]),
        ("20 < age <= 30", 0, [1, 2]),
        ("30 >= age > 20", 0, [1, 2]),
        ("age == 22", 0, [1]),
        ("age = 22", 0, [1]),
        ("age in (22, 50)", 0, [1, 3]),
        ("age unchanged", 0, [2]),
        ("age increases", 0, [2, 3]),
        ("age decreases", 0, [0, 1, 2]),
        ("age > 40.5 and age > 3", 0, [3]),
        ("lsat score > 10", 1, [1, 2]),
        ("`lsat score` < 10", 1, [0]),
        ("-1e3 < lsat score < 1.5e1", 1, [0, 1]),
        ("race == 'black'", 2, [1]),
        ('"black" == race', 2, [1]),
        ("race != 'black'", 2, [0]),
        ("race in ('white', 'black')", 2, [0, 1]),
        ("race not in ['white']", 2, [1]),
        ("race_white == 0", 2, [1]),
        ("race_black == 0 AND sex UNCHANGED", 2, [0]),
        ("sex == 'f'", 3, [0]),
        ("sex decreases", 3, [0, 1]),
        ("sex increases", 3, [1]),
        ("grade >= 2", 4, [1, 2]),
        ("grade increases", 4, [1, 2]),
        ("grade == 3", 4, [2]),
    ],
)
def test_words(text, feature, cells):
    assert np.flatnonzero(left(text).allowed[feature]).tolist() == cells


@pytest.mark.parametrize(
    ("mapping", "feature", "cells"),
    [
        ({"age": {">": 20, "<=": 30}}, 0, [1, 2]),
        ({"age": [22, 50]}, 0, [1, 3]),
        ({"age": 22}, 0, [1]),
        ({"age": "unchanged"}, 0, [2]),
        ({"race": "black"}, 2, [1]),
        ({"race": {"in": ["black"]}}, 2, [1]),
        ({"race": {"not in": ["black"]}}, 2, [0]),
        ({"race": {"white", "black"}}, 2, [0, 1]),
        ({"race_black": 1}, 2, [1]),
        ({"sex": {"=": "f"}}, 3, [0]),
    ],
)
def test_mapping_says_the_same(mapping, feature, cells):
    assert np.flatnonzero(left(mapping).allowed[feature]).tolist() == cells


def test_a_list_of_texts_is_their_conjunction():
    domain = left(["age > 25", "sex unchanged"])
    assert domain.allowed[0].tolist() == [False, False, True, True]
    assert domain.allowed[3].tolist() == [False, True]


def test_nothing_is_no_condition():
    assert parse(None, FEATURES) == parse("  ", FEATURES) == parse({}, FEATURES) == ()


def test_a_bound_inside_a_cell_clips_its_values():
    domain = left("age > 33")
    assert domain.allowed[0].tolist() == [False, False, True, True]
    assert domain.lower[0][2] == 34
    assert domain.nearest(0, 2, 30.0) == 34


def test_a_bound_that_leaves_no_whole_number_strikes_the_cell_out():
    assert np.flatnonzero(left("40.2 < age and age < 41.5").allowed[0]).tolist() == [3]
    assert not left("40.2 < age and age < 40.5").allowed[0].any()


def test_a_list_on_whole_numbers_leaves_fractions_out():
    assert np.flatnonzero(left("age in (22.5, 50)").allowed[0]).tolist() == [3]


def test_listed_values_are_the_only_ones_shown():
    domain = left("age in (22, 24, 50)")
    assert domain.nearest(0, 1, 30.0) == 24
    assert not domain.holds(0, 1, 23.0)


@pytest.mark.parametrize(
    ("text", "word", "message"),
    [
        ("agee > 3", "agee", "did you mean 'age'"),
        ("zzz > 3", "zzz", "the features are"),
        ("age > 'old'", "'old'", "is a number"),
        ("20 < age < 'old'", "'old'", "is a number"),
        ("age in (3, 'old', 4)", "'old'", "is a number"),
        ("age in (3, 1e300)", "1e300", "larger than models take"),
        ("age > old", "old", "quotes"),
        ("race == 'whit'", "'whit'", "did you mean 'white'"),
        ("age > 3 and race in ('white', 'blak')", "'blak'", "did you mean 'black'"),
        ("race == 'purple'", "'purple'", "none of the categories"),
        ("race > 'white'", ">", "no order"),
        ("race increases", "increases", "no order"),
        ("age > 3 or age < 2", "or", "ask twice"),
        ("age > 3 age < 2", "age", "expected 'and'"),
        ("age 3", "3", "expected a comparison"),
        ("age in (3", "", "after the end"),
        ("age in 3", "3", "parentheses"),
        ("age in (3 4)", "4", "expected ','"),
        ("age in ()", "(", "empty"),
        ("age not 3", "3", "expected 'in'"),
        ("age >", "", "after the end"),
        ("age < sex", "sex", "compared with values"),
        ("3 < 4", "3 < 4", "no feature"),
        ("age < 3 < 4", "age", "in the middle"),
        ("age > ?", "?", "cannot be read"),
        ("age != 3", "!=", "on which side"),
        ("age not in (3, 4)", "not in", "on which side"),
        ("race_white > 0", ">", "one-hot group"),
        ("race_white == 2", "2", "one-hot group"),
        ("age == missing", "missing", "never missing"),
        ("30 < age < 20", "20", "no whole number is > 30 and < 20"),
        ("20 > lsat score >= 20", "20", "no number is < 20 and >= 20"),
        ("40.2 < age < 40.5", "40.5", "no whole number"),
        ("age == 25.5", "25.5", "whole numbers only"),
        ("age in (25.5, 26.5)", "25.5", "whole numbers only"),
        ("3 == lsat score == 4", "4", "no number is == 3 and == 4"),
        ("3 < grade", "3", "none of the categories"),
        ("3 < grade < 2", "2", "none of the categories"),
        ("race not in ('white', 'black')", "not in", "none of the categories"),
        ("0 == race_white == 1", "1", "none of the categories"),
        ("age > (", "(", "expected a number"),
        ("and", "and", "is no feature"),
    ],
)
def test_errors_point_at_the_word(text, word, message):
    with pytest.raises(ConditionError) as caught:
        left(text)
    shown = str(caught.value)
    assert message in shown
    _, source, marks = shown.rsplit("\n", 2)
    marked = source[2:][marks.index("^") - 2 : marks.rindex("^") - 1]
    assert marked.strip() == word


def test_what_only_clashes_is_no_error_but_leaves_nothing():
    for text in ("age > 30 and age < 20", "grade > 2 and grade < 2", "race == 'white' and race == 'black'"):
        assert left(text).empty
    bounded = Feature("age", "integer", columns=("age",), upper=99)
    (condition,) = parse("age > 100", [bounded])
    axis = Axis.number("age", [20.5], integer=True, high=99)
    point = Point(np.array([30.0]), np.array([1]))
    domain = domain_of(Space((axis,)), [bounded], point)
    assert restrict(domain, Space((axis,)), [bounded], point, condition).empty == (0,)
    assert clashing(Space((axis,)), [bounded], point, [condition]) == ["age > 100", "age as declared"]
    both = parse("age > 90 and age < 80", [bounded])
    assert clashing(Space((axis,)), [bounded], point, both) == ["age > 90", "age < 80"]


@pytest.mark.parametrize(
    ("where", "line", "word"),
    [
        ({"age": {">": 30, "<": 20}}, "age < 20", "20"),
        ({"age": {">": 30, "<": "old"}}, "age < 'old'", "'old'"),
        ({"race": ["white", "asain"]}, "race in ('white', 'asain')", "'asain'"),
        ({"age": 25.5}, "age == 25.5", "25.5"),
        ({"age": {"in": [22, 23], ">": 30}}, "age > 30", "30"),
        ({"age": {">": 30, "in": [22, 23]}}, "age in (22, 23)", "22"),
        ({"age": {">": 2, "!=": 2.5}}, "age != 2.5", "!="),
        ({"race": "increases"}, "race increases", "increases"),
        ({"age": {}}, "age", "age"),
        ({"age": {"in": []}}, "age", "age"),
        ({"age": {"~": 3}}, "age", "age"),
    ],
)
def test_errors_of_a_mapping_point_at_the_word(where, line, word):
    with pytest.raises(ConditionError) as caught:
        left(where)
    _, source, marks = str(caught.value).rsplit("\n", 2)
    assert source[2:] == line
    assert line[marks.index("^") - 2 : marks.rindex("^") - 1] == word


@pytest.mark.parametrize(
    "wrong",
    [3, {"age": {"~": 3}}, {"agee": 3}, {"age": []}, {"age": {}}, {"age": "old"}, {"race": "purple"}, [1, 2]],
)
def test_wrong_mappings_are_errors(wrong):
    with pytest.raises(ConditionError):
        left(wrong)


def test_clashing_names_only_what_is_needed():
    conditions = parse("age > 25 and age < 20 and age < 100 and sex unchanged", FEATURES)
    assert clashing(SPACE, FEATURES, POINT, conditions) == ["age > 25", "age < 20"]


def test_clashing_with_a_declaration_names_it():
    features = (Feature("age", "integer", columns=("age",), changes="never"), *FEATURES[1:])
    words = clashing(SPACE, features, POINT, parse("age > 35", features))
    assert words[0] == "age > 35"
    assert "as declared" in words[1]


def test_missing_is_a_value():
    axis = Axis.number("age", [20.0], missing=True)
    space, features = Space((axis,)), (Feature("age", "numeric", columns=("age",), missing=True),)
    point = Point(np.array([np.nan]), np.array([2]))
    for text, cells in (("age == missing", [2]), ("age != missing", [0, 1]), ("age increases", [2])):
        domain = restrict(domain_of(space, features, point), space, features, point, parse(text, features)[0])
        assert np.flatnonzero(domain.allowed[0]).tolist() == cells
