"""Edges at which answers were once wrong, false or a traceback."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from polyflip import Explainer, Feature, FeatureError, PolyflipError, Status, decision_polynomial
from polyflip.solvers import solver_named
from trees import hamming_problem

GRID = np.array([[i, j] for i in range(10) for j in range(10)], float) + 0.3
CORNER = DecisionTreeClassifier(random_state=0).fit(GRID, ((GRID[:, 0] > 4) & (GRID[:, 1] > 4)).astype(int))
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 70, 300),
        "income": RNG.normal(1000, 300, 300).round(2),
        "sex": RNG.integers(0, 2, 300),
    }
).assign(race_w=lambda d: RNG.integers(0, 2, len(d)), race_b=lambda d: 1 - d.race_w)
DECIDED = np.where(
    (PEOPLE.age > 40) ^ (PEOPLE.income > 1000) | (PEOPLE.race_w == 1) & (PEOPLE.sex == 1), "yes", "no"
)
FOREST = RandomForestClassifier(7, max_depth=4, random_state=0).fit(PEOPLE, DECIDED)
PERSON = PEOPLE.iloc[[0]]


@pytest.mark.parametrize("solver", ["oracle", "ilp"])
def test_a_split_on_missing_makes_no_infinite_cell(solver):
    data = np.array([[1.0, 0], [2, 0], [3, 0], [np.nan, 0], [np.nan, 0], [4, 0]])
    tree = DecisionTreeClassifier(random_state=0).fit(data, [0, 0, 0, 1, 1, 0])
    explainer = Explainer(tree, data, {"x1": "numeric"})
    away = explainer.counterfactual([np.nan, 0], solver=solver)
    assert tree.predict([list(away.point.values())])[0] == 0
    gone = explainer.counterfactual([1.0, 0], solver=solver, distance="l1-range")
    assert np.isnan(gone.point["x1"])
    assert "inf" not in str(decision_polynomial(tree, of=1))


def test_a_row_outside_its_declared_values_has_no_prime_implicant():
    explainer = Explainer(CORNER, GRID, {"x1": {"values": [1.3, 2.3]}})
    for ask in (
        lambda: explainer.suffices([7.3, 7.3], ["x1"]),
        lambda: explainer.prime_implicant([7.3, 7.3]),
        lambda: explainer.prime_implicant([7.3, 7.3], method="flip"),
    ):
        with pytest.raises(PolyflipError, match="'x1' of the row itself"):
            ask()


def where_votes_differ(explainer):
    """Rows of the people for which the majority of the trees and predict say different things."""
    by_vote = np.array([explainer.decision(row) for row in PEOPLE.to_numpy()])
    return np.flatnonzero(by_vote != FOREST.predict(PEOPLE))


def test_a_majority_vote_is_said_and_so_is_where_predict_differs():
    explainer = Explainer(FOREST, PEOPLE, vote="majority")
    differ = where_votes_differ(explainer)
    seen = set()
    for number in [*differ[:3], *range(12)]:
        row = PEOPLE.iloc[[number]]
        answer = explainer.counterfactual(row)
        assert "(majority vote)" in str(answer).split("\n")[0]
        assert "(majority vote)" in answer._repr_html_()
        for place, frame, vote in (
            ("row", row, answer.decision),
            ("point", answer.to_frame(), answer.target),
        ):
            own = FOREST.predict(frame)[0]
            said = [note for note in answer.notes if f"this {place}" in note]
            assert len(said) == (own != vote)
            assert all(f"'{own}'" in note and f"'{vote}'" in note and note in str(answer) for note in said)
            seen.add((place, own != vote))
        held = explainer.suffices(row, ["age"])
        implicant = explainer.prime_implicant(row)
        for other in (held, implicant, explainer.robustness(row)):
            assert "(majority vote)" in str(other)
        for other in (held, implicant, explainer.prime_implicant(row, method="flip")):
            assert any("this row" in note for note in other.notes) == (number in differ)
            assert all(note in str(other) for note in other.notes)
        if held.counterexample is not None:
            shown = pd.DataFrame([held.counterexample])
            same = FOREST.predict(shown)[0] == explainer.decision(held.counterexample)
            assert any("counterexample" in note for note in held.notes) != same
    assert seen >= {("row", True), ("row", False), ("point", True), ("point", False)}


def test_the_models_own_vote_needs_no_saying():
    explainer = Explainer(FOREST, PEOPLE)
    for answer in (explainer.counterfactual(PERSON), explainer.suffices(PERSON, ["age"])):
        assert "vote" not in str(answer)
        assert answer.notes == ()
    assert (
        Explainer(FOREST, PEOPLE, vote="majority").suffices(PERSON, ["age"]).to_dict()["vote"] == "majority"
    )


def test_a_time_limit_may_be_of_any_number_type():
    for seconds in (60, 60.0, np.int64(60), np.float32(60)):
        assert Explainer(FOREST, PEOPLE).counterfactual(PERSON, time_limit=seconds).status == "optimal"


def test_naive_bayes_is_not_given_data_outside_its_categories():
    rows = np.array([[0, 1], [1, 2], [2, 0], [1, 1]])
    model = CategoricalNB().fit(rows, [0, 1, 1, 0])
    with pytest.raises(FeatureError, match=r"'ward'.*0, 1, 2.*5"):
        Explainer(model, {"ward": [0, 5], "sex": [0, 1]})
    with pytest.raises(FeatureError, match=r"'sex'.*0, 1, 2.*1.5"):
        Explainer(model, {"ward": [0, 1], "sex": [0, 1.5]})


@pytest.mark.parametrize("weight", [1e-3, 1e-7, 1e-9, 1e-12, 1e6, 1e12])
@pytest.mark.parametrize("encoding", ["tight", "paper"])
def test_prices_of_any_size(weight, encoding):
    data = RNG.normal(size=(80, 4))
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(
        data, (data.sum(axis=1) > 0).astype(int)
    )
    explainer = Explainer(forest, data)
    for row in data[:3]:
        for weights in (dict.fromkeys(["x1", "x2", "x3", "x4"], weight), {"x1": weight, "x2": 1 / weight}):
            truth = explainer.counterfactual(row, weights=weights, solver="oracle")
            answer = explainer.counterfactual(row, weights=weights, solver="ilp", encoding=encoding)
            if answer.status == "optimal":
                assert answer.cost == pytest.approx(truth.cost, rel=1e-6)
            assert answer.bound <= truth.cost * (1 + 1e-6)
            assert answer.cost >= truth.cost * (1 - 1e-9)


def test_conditions_are_part_of_the_sentence():
    explainer = Explainer(CORNER, GRID)
    implicant = explainer.prime_implicant([7.3, 7.3], where="x1 > 5")
    assert implicant.features == ("x2",)
    assert "given x1 > 5" in str(implicant)
    enough = explainer.suffices([7.3, 7.3], ["x2"], where="x1 > 5")
    assert enough
    assert enough.conditions == ("x1 > 5",)
    assert "given x1 > 5" in str(enough)
    assert enough.to_dict()["sufficient"] is True
    declared = Explainer(CORNER, GRID, {"x1": {"lower": 5}}).prime_implicant([7.3, 7.3])
    assert "given x1 as declared" in str(declared)


@pytest.mark.parametrize("declared", [{"upper": 3}, {"values": [1.3, 2.3]}])
def test_declarations_are_named_as_the_reason(declared):
    answer = Explainer(CORNER, GRID, {"x1": declared}).counterfactual([1.3, 1.3])
    assert answer.status == "infeasible"
    assert "x1 as declared" in answer.reason


def test_reasons_name_only_conditions_that_are_needed():
    answer = Explainer(CORNER, GRID).counterfactual([1.3, 1.3], where="x1 < 3 and x2 > 1 and x2 < 9")
    assert answer.reason.endswith("x1 < 3")
    assert answer.conditions == ("x1 < 3", "x2 > 1", "x2 < 9")


def test_naive_bayes_columns_stay_what_the_model_knows():
    codes = RNG.integers(0, 3, size=(80, 3))
    model = CategoricalNB().fit(codes, (codes.sum(axis=1) > 3).astype(int))
    for kind in ("numeric", "integer"):
        with pytest.raises(PolyflipError, match="it cannot be"):
            Explainer(model, codes, {"x1": kind})
    with pytest.raises(PolyflipError, match="knows the codes"):
        Explainer(model, codes, {"x1": {"categories": {0: "a", 7: "b"}}})
    named = Explainer(model, codes, {"x1": {"categories": {0: "a", 1: "b", 2: "c"}}})
    assert named.features[0].labels == ("a", "b", "c")
    answer = named.counterfactual(codes[0], where="x1 == 'b'")
    assert answer.found is (answer.status == "optimal")


def test_a_predict_that_contradicts_its_trees_is_refused():
    class Inverted(RandomForestClassifier):
        def predict(self, X):
            said = super().predict(X)
            return np.where(said == "yes", "no", "yes")

    model = Inverted(3, random_state=0).fit(PEOPLE, DECIDED)
    with pytest.raises(PolyflipError, match="contradicts its own trees"):
        Explainer(model, PEOPLE).counterfactual(PERSON)


def test_minimum_is_of_least_weight_however_near_another_is():
    bits = np.array(list(itertools.product((0, 1), repeat=3)))
    model = DecisionTreeClassifier(random_state=0).fit(bits, bits[:, 0] | (bits[:, 1] & bits[:, 2]))
    answer = Explainer(model, bits).prime_implicant([1, 1, 1], weights={"x1": 1.00001, "x2": 0.5, "x3": 0.5})
    assert (answer.features, answer.weight) == (("x2", "x3"), 1.0)


@pytest.mark.parametrize("kind", [np.float32, np.float16, bool])
def test_frames_of_narrow_types_flip(kind):
    raw = RNG.normal(size=(60, 2))
    data = pd.DataFrame(raw.astype(kind) if kind is not bool else raw > 0, columns=["a", "b"])
    for model in (BernoulliNB(binarize=0.0), DecisionTreeClassifier(random_state=0, max_depth=3)):
        model.fit(data, (raw[:, 0] + raw[:, 1] > 0).astype(int))
        for given in (data,) if isinstance(model, BernoulliNB) else (data, None):
            explainer = Explainer(model, given)
            for row in range(15):
                answer = explainer.counterfactual(data.iloc[[row]])
                if answer.found:
                    assert model.predict(answer.to_frame())[0] == answer.target


def test_values_that_the_rows_type_cannot_hold():
    data = [[0], [100], [300], [400]]
    explainer = Explainer(DecisionTreeClassifier().fit(data, [0, 0, 1, 1]), data)
    assert explainer.counterfactual(np.array([100], dtype=np.int8)).point["x1"] > 200
    below = Explainer(DecisionTreeClassifier().fit([[-5], [5]], [0, 1]), [[-5], [5]])
    assert below.counterfactual(np.array([5], dtype=np.uint8), where="x1 < -2").point["x1"] == -3
    frame = pl.DataFrame({"x1": pl.Series([5], dtype=pl.UInt8)})
    assert below.counterfactual(frame, where="x1 < -2").to_frame()["x1"][0] == -3


def test_frames_come_back_as_they_were_named():
    numbered = pd.DataFrame(PEOPLE.to_numpy(), index=[f"p{i}" for i in range(len(PEOPLE))])
    model = RandomForestClassifier(3, random_state=0).fit(PEOPLE.to_numpy(), DECIDED)
    frame = Explainer(model, numbered).counterfactual(numbered.iloc[[0]]).to_frame()
    assert list(frame.columns) == [0, 1, 2, 3, 4]
    assert list(frame.index) == ["p0"]


def test_object_columns_are_read_as_what_they_hold():
    plain = Explainer(FOREST, PEOPLE)
    objects = Explainer(FOREST, PEOPLE.astype(object))
    assert [f.kind for f in objects.features] == [f.kind for f in plain.features]
    gap = PEOPLE.assign(age=PEOPLE.age.astype("Int64"))
    gap.loc[0, "age"] = pd.NA
    assert Explainer(FOREST, gap).features[0].missing


def test_naive_bayes_without_data_knows_binary_columns():
    flags = PEOPLE > 500
    model = BernoulliNB().fit(flags, DECIDED)
    explainer = Explainer(model)
    assert {f.kind for f in explainer.features} == {"binary"}
    answer = explainer.counterfactual(flags.iloc[[0]])
    assert set(answer.point.values()) <= {True, False}
    numbers = explainer.counterfactual([30.0, 900.0, 1, 0, 1])  # other values: these columns are numbers
    assert model.predict(numbers.to_frame())[0] == numbers.target


def test_rows_by_name_say_the_code():
    explainer = Explainer(FOREST, PEOPLE, {"sex": {"categories": {0: "f", 1: "m"}}})
    with pytest.raises(PolyflipError, match=r"0 \(f\), 1 \(m\)"):
        explainer.counterfactual({**PERSON.iloc[0].to_dict(), "sex": "m"})
    by_code = explainer.counterfactual(PERSON, where="sex == 0")
    assert by_code.cost == explainer.counterfactual(PERSON, where="sex == 'f'").cost


def test_bounds_on_a_binary_feature_are_obeyed():
    explainer = Explainer(FOREST, PEOPLE, {"sex": {"lower": 1}})
    answer = explainer.counterfactual(PEOPLE[PEOPLE.sex == 1].iloc[[0]], weights={"age": 50, "income": 50})
    assert answer.point["sex"] == 1


def test_oracle_and_program_take_the_same_of_equals():
    bits = np.array(list(itertools.product((0, 1), repeat=4)))
    forest = RandomForestClassifier(15, random_state=0).fit(bits, (bits.sum(axis=1) > 1).astype(int))
    explainer = Explainer(forest, bits, vote="majority")
    for row in bits:
        points = {
            tuple(explainer.counterfactual(row, distance="l0", solver=s).point.values())
            for s in ("oracle", "ilp")
        }
        assert len(points) == 1


def test_words_are_plain():
    explainer = Explainer(FOREST, PEOPLE)
    answer = explainer.counterfactual(PERSON, where="25 < age <= 60 and `sex` unchanged")
    assert answer.conditions == ("25 < age <= 60", "`sex` unchanged")
    mapped = explainer.counterfactual(PERSON, where={"race": ["w"], "age": {">": np.int64(20)}})
    assert mapped.conditions == ("race in ('w')", "age > 20")
    assert "e+" not in str(explainer.counterfactual(PERSON, where="age <= 30"))
    bounded = Explainer(CORNER, GRID, {"x1": {"lower": 0}}).counterfactual([7.3, 7.3], where="x2 unchanged")
    assert str(bounded.region["x1"]).startswith(">= 0 and")


def test_robustness_says_it_in_all_forms():
    found = Explainer(FOREST, PEOPLE).robustness(
        PERSON, "l0", target="no" if FOREST.predict(PERSON) == "yes" else "yes"
    )
    assert float(found) == found.cost
    assert "robustness 1" in str(found) or "robustness 2" in str(found)
    assert '"status": "optimal"' in found.to_json()
    assert "region" not in found.to_dict()
    assert "<table>" in found._repr_html_()
    late = Explainer(FOREST, PEOPLE).robustness(PERSON, "l0", solver="ilp", time_limit=1e-9)
    assert "at least" in str(late)


ROW = PERSON.iloc[0].to_dict()


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.counterfactual({**ROW, "income": 1e39}),
        lambda e: e.counterfactual({**ROW, "income": 10**400}),
        lambda e: e.counterfactual(PERSON, target=np.array(["a", "b"])),
        lambda e: e.counterfactual(PERSON, target=["yes"]),
        lambda e: e.counterfactual(PERSON, distance=5),
        lambda e: e.counterfactual(PERSON, distance=["l0"]),
        lambda e: e.counterfactual(PERSON, weights=[1, 2]),
        lambda e: e.counterfactual(PERSON, solver=None),
        lambda e: e.counterfactual(PERSON, time_limit="5"),
        lambda e: e.counterfactual(PERSON, time_limit=True),
        lambda e: e.suffices(PERSON, ["age"], time_limit=np.True_),
        lambda e: e.counterfactual(PERSON, where={"age": {"in": 5}}),
        lambda e: e.counterfactual(PERSON, where={"age": {"in": "ab"}}),
        lambda e: e.counterfactual(PERSON, where="age > 1" + "0" * 400),
        lambda e: e.counterfactual(PERSON, where="age > 1" + "0" * 5000),
        lambda e: e.counterfactual(PERSON, where="income > 1e39"),
        lambda e: e.counterfactual(PERSON, where="income < -1e39"),
        lambda e: e.counterfactual(pd.concat([PERSON, PERSON[["age"]]], axis=1)),
        lambda e: e.counterfactual(np.array([1 + 2j] * 5)),
        lambda e: e.suffices(PERSON, 5),
        lambda e: e.suffices(PERSON, None),
        lambda e: e.write_program(None, PERSON),
        lambda e: e.write_program("/proc/none.lp", PERSON),
        lambda e: decision_polynomial(FOREST, of="yes", tree="x"),
        lambda e: decision_polynomial(FOREST, of=np.array([1, 2]), tree=0),
        lambda _: Explainer(FOREST, pd.concat([PEOPLE, PEOPLE[["age"]]], axis=1)),
        lambda _: Explainer(FOREST, PEOPLE.assign(age=PEOPLE.age.astype(str))),
        lambda _: Explainer(FOREST, PEOPLE.assign(age=pd.Timestamp("2020-01-01"))),
        lambda _: Explainer(FOREST, PEOPLE.assign(income=np.inf)),
        lambda _: Explainer(FOREST, PEOPLE, 5),
        lambda _: Explainer(FOREST, features={"agee": {"changes": "never"}}),
        lambda _: Explainer(FOREST, PEOPLE, {"age": {"lower": "x"}}),
        lambda _: Explainer(FOREST, PEOPLE, {"age": {"weight": "x"}}),
        lambda _: Explainer(FOREST, PEOPLE, {"age": {"categories": 5}}),
        lambda _: Explainer(FOREST, PEOPLE, {"age": {"categories": {"a": "b"}}}),
        lambda _: Explainer(FOREST, PEOPLE, {"age": {"columns": ["income"]}}),
        lambda _: Explainer(FOREST, PEOPLE, {"age": {"values": [20.5]}}),
    ],
)
def test_wrong_types_and_sizes_are_errors_of_ours(ask):
    with pytest.raises(PolyflipError):
        ask(Explainer(FOREST, PEOPLE))


def test_a_single_feature_may_be_declared_alone():
    assert Explainer(FOREST, PEOPLE, Feature("age", changes="never")).features[0].changes == "never"


def test_a_written_program_can_be_read_and_solved_again(tmp_path):
    import highspy

    explainer = Explainer(FOREST, PEOPLE)
    for suffix in (".lp", ".mps"):
        path = explainer.write_program(tmp_path / f"p{suffix}", PERSON, encoding="tight")
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.readModel(str(path))
        highs.run()
        assert highs.getInfo().objective_function_value == pytest.approx(
            explainer.counterfactual(PERSON).cost, abs=1e-6
        )


@pytest.mark.parametrize("solver", ["ilp", "search", "oracle"])
def test_a_price_may_be_the_least_of_doubles(solver):
    problem = hamming_problem([("X1", 0, 1, 0), ("X2", 0, 1, 0)], [0.0, 0.0], 0, ("X1", "X2"), outright=True)
    least = tuple(np.where(price > 0, 5e-324, 0.0) for price in problem.cost.price)
    answer = solver_named(solver).cheapest(replace(problem, cost=replace(problem.cost, price=least)))
    assert (answer.status, answer.cost) == (Status.OPTIMAL, 1e-323)
