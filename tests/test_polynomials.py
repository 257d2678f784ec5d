"""Decision polynomials of fitted models, against the models' own predict."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from polyflip import PolyflipError, decision_polynomial

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(80, 3))
LABELS = np.array(["a", "b", "c"])[(DATA[:, 0] > 0).astype(int) + (DATA[:, 1] * DATA[:, 2] > 0)]
CODES = RNG.integers(0, 3, size=(80, 3))


def point(row):
    return {f"x{j + 1}": value for j, value in enumerate(row.tolist())}


def test_tree_of_three_classes():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(DATA, LABELS)
    polynomials = {label: decision_polynomial(tree, of=label) for label in "abc"}
    for row, decided in zip(DATA, tree.predict(DATA), strict=True):
        assert {label: p(point(row)) for label, p in polynomials.items()} == {
            label: int(label == decided) for label in "abc"
        }


def test_each_tree_of_a_forest():
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(DATA, LABELS)
    for number, tree in enumerate(forest.estimators_):
        p = decision_polynomial(forest, of="b", tree=number)
        for row in DATA:
            assert p(point(row)) == int(tree.predict([row])[0] == 1)
    with pytest.raises(PolyflipError, match="name one"):
        decision_polynomial(forest, of="b")
    with pytest.raises(PolyflipError, match="trees 0 to 2"):
        decision_polynomial(forest, of="b", tree=3)


def test_naive_bayes_over_categories():
    model = CategoricalNB().fit(CODES, (CODES.sum(axis=1) > 3).astype(int))
    zero, one = (decision_polynomial(model, of=k) for k in (0, 1))
    for row in itertools.product(range(3), repeat=3):
        decided = int(model.predict([row])[0])
        values = point(np.array(row))
        assert (one(values), zero(values)) == (decided, 1 - decided)
    assert "1[x1 = " in str(one) or "1[x1 in {" in str(one)
    assert one.to_dict()["of"] == 1
    with pytest.raises(PolyflipError, match="it can be"):
        one({"x1": 7, "x2": 0, "x3": 0})


@pytest.mark.parametrize("binarize", [None, 0.0, 0.4])
def test_naive_bayes_over_binary_features(binarize):
    bits = (CODES > 1).astype(int)
    model = BernoulliNB(binarize=binarize).fit(bits, (CODES.sum(axis=1) > 3).astype(int))
    p = decision_polynomial(model, of=1)
    for row in itertools.product((0, 1), repeat=3):
        assert p(point(np.array(row))) == model.predict([row])[0]


def test_constants():
    tree = DecisionTreeClassifier().fit([[0.5], [1.5]], ["a", "a"])
    assert str(decision_polynomial(tree, of="a")) == "1"
    never = decision_polynomial(lambda _: 1, of=0, features=["x"])
    assert str(never) == "0"
    assert len(never) == 0
    always = decision_polynomial(lambda _: 1, of=1, features=["x"])
    assert str(always) == "1"


def test_a_rule_is_compared_as_the_model_compares():
    tree = DecisionTreeClassifier().fit([[0.0], [0.2]], [0, 1])
    threshold = float(tree.tree_.threshold[0])
    p = decision_polynomial(tree, of=0)
    for x in (threshold, np.nextafter(threshold, 1), np.nextafter(threshold, 0)):
        assert p({"x1": x}) == int(tree.predict([[x]])[0] == 0)


@pytest.mark.parametrize("seed", range(6))
def test_a_missing_value_goes_where_the_model_sends_it(seed):
    """The same threshold may send missing to one side in one node and to the other in the next."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (60, 3)).astype(float)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    labels = (np.isnan(rows).sum(axis=1) + (np.nan_to_num(rows, nan=2.0)[:, 0] > 1)) % 3
    forest = RandomForestClassifier(3, max_depth=5, random_state=seed).fit(rows, labels)
    every = np.array(list(itertools.product([0.0, 1, 2, 3, np.nan], repeat=3)))
    for number, tree in enumerate(forest.estimators_):
        for reduce, label in itertools.product((True, False), (0, 1, 2)):
            p = decision_polynomial(forest, of=label, tree=number, reduce=reduce)
            assert [p(point(row)) for row in every] == (tree.predict(every) == label).astype(int).tolist()


def test_a_factor_says_where_missing_goes():
    rows = [[1.0], [2.0], [3.0], [np.nan]]
    left = DecisionTreeClassifier(random_state=0).fit(rows, [1, 1, 0, 1])
    right = DecisionTreeClassifier(random_state=0).fit(rows, [1, 1, 0, 0])
    assert str(decision_polynomial(left, of=1)) == "1[x1 <= 2.5 or missing]"
    assert str(decision_polynomial(left, of=0)) == "(1 - 1[x1 <= 2.5 or missing])"
    assert str(decision_polynomial(right, of=1)) == "1[x1 <= 2.5]"
    assert decision_polynomial(left, of=1)({"x1": None}) == 1
    gone = DecisionTreeClassifier(random_state=0).fit([[1.0], [2.0], [np.nan]], [0, 0, 1])
    assert str(decision_polynomial(gone, of=0)) == "1[x1 is not missing]"
    assert decision_polynomial(gone, of=1)({"x1": np.nan}) == 1


def test_missing_where_the_model_takes_none():
    bayes = BernoulliNB().fit([[0], [1]], [0, 1])
    with pytest.raises(PolyflipError, match="missing"):
        decision_polynomial(bayes, of=1)({"x1": None})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: decision_polynomial(t, of="z"), "no class"),
        (lambda t: decision_polynomial(t, of="a", features=["p"]), "1 names"),
        (lambda t: decision_polynomial(t, of="a")({"y": 1}), "no value"),
        (lambda t: decision_polynomial(t, of="a")({"x1": "q", "x2": 0, "x3": 0}), "a number"),
        (lambda _: decision_polynomial(lambda x: 1, of=1), "name the binary features"),
        (
            lambda _: decision_polynomial(lambda x: 1, of=1, features=[f"x{i}" for i in range(40)]),
            "combinations",
        ),
    ],
)
def test_wrong_questions(call, message):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(DATA, LABELS)
    with pytest.raises(PolyflipError, match=message):
        call(tree)


def test_a_function_that_fails_is_said_with_its_point_and_cause():
    with pytest.raises(PolyflipError, match=r"'a': 1, 'b': 0.*ZeroDivisionError") as caught:
        decision_polynomial(lambda x: x["a"] / (x["a"] - 1 + x["b"]) > 0, of=True, features=["a", "b"])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(PolyflipError, match="'a': 1"):
        decision_polynomial(lambda x: np.array([x["a"], 1]), of=1, features=["a"])


def test_naive_bayes_has_no_trees():
    model = BernoulliNB().fit([[0], [1]], [0, 1])
    with pytest.raises(PolyflipError, match=r"has no trees|for forests"):
        decision_polynomial(model, of=1, tree=0)
