"""The front door: every kind of input, the hard places, and errors a user can act on."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier

import polyflip
from polyflip import Explainer, PolyflipError
from polyflip.solvers.oracle import OracleSolver

RNG = np.random.default_rng(0)
AGES = RNG.integers(18, 70, 200)
INCOME = np.round(RNG.normal(30, 8, 200), 2)
SEX = RNG.integers(0, 2, 200)
RACE = RNG.integers(0, 3, 200)
FRAME = pd.DataFrame(
    {
        "age": AGES,
        "income": INCOME,
        "sex": SEX,
        "race_a": (RACE == 0).astype(int),
        "race_b": (RACE == 1).astype(int),
        "race_c": (RACE == 2).astype(int),
    }
)
LABELS = np.where((AGES > 40) & (INCOME > 28) | (RACE == 2) & (SEX == 1), "yes", "no")
FEATURES = ["age", "income", "sex", "race"]
FOREST = RandomForestClassifier(9, max_depth=4, random_state=0).fit(FRAME, LABELS)


@pytest.fixture(scope="module")
def explainer():
    return Explainer(FOREST, FRAME)


def test_features_are_inferred(explainer):
    assert {f.name: f.kind for f in explainer.features} == {
        "age": "integer",
        "income": "numeric",
        "sex": "binary",
        "race": "one-hot",
    }
    assert explainer.classes == ("no", "yes")
    assert explainer.columns == tuple(FRAME.columns)
    assert explainer.cells > 100
    assert "RandomForestClassifier" in repr(explainer)


@pytest.mark.parametrize("row", range(10))
def test_counterfactual_flips_the_model_itself(explainer, row):
    answer = explainer.counterfactual(FRAME.iloc[[row]])
    frame = answer.to_frame()
    assert answer.status == "optimal"
    assert answer.bound == answer.cost
    assert FOREST.predict(frame)[0] == answer.target != answer.decision
    assert list(frame.columns) == list(FRAME.columns)
    assert frame["age"].dtype == FRAME["age"].dtype
    assert frame[["race_a", "race_b", "race_c"]].sum(axis=1).item() == 1
    changed = {change.feature for change in answer.changes}
    for feature in explainer.features:
        same = all(frame[c].item() == FRAME[c][row] for c in feature.columns)
        assert same == (feature.name not in changed)


def test_input_kinds_give_the_same_answer(explainer):
    kinds = [
        FRAME.iloc[[3]],
        pl.DataFrame(FRAME.iloc[[3]].to_dict("list")),
        FRAME.iloc[3],
        dict(FRAME.iloc[3]),
        FRAME.iloc[3].to_numpy(),
        FRAME.iloc[3].tolist(),
    ]
    answers = [explainer.counterfactual(kind) for kind in kinds]
    assert len({answer.cost for answer in answers}) == 1
    assert isinstance(answers[0].to_frame(), pd.DataFrame)
    assert isinstance(answers[1].to_frame(), pl.DataFrame)


def test_data_as_polars_or_mapping_or_array():
    row = FRAME.iloc[3].tolist()
    costs = {
        Explainer(FOREST, data).counterfactual(row).cost
        for data in (FRAME, pl.DataFrame(FRAME.to_dict("list")), FRAME.to_dict("list"), FRAME.to_numpy())
    }
    assert len(costs) == 1


def test_answer_tells_everything(explainer):
    answer = explainer.counterfactual(FRAME.iloc[[3]], where="sex unchanged")
    told = json.loads(answer.to_json())
    assert told["status"] == "optimal"
    assert told["conditions"] == ["sex unchanged"]
    assert set(told["region"]) == {"age", "income", "sex", "race"}
    for change in answer.changes:
        assert change.after in answer.region[change.feature]
        assert str(change) in str(answer)
    assert "<table>" in answer._repr_html_()
    assert answer.gap == 0.0
    assert answer.found


def test_html_is_escaped():
    tree = DecisionTreeClassifier(random_state=0).fit([[0.5], [1.5]], ["<b>", "<i>"])
    shown = Explainer(tree, {"<script>": [0.5, 1.5]}).counterfactual([0.5])._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "&lt;i&gt;" in shown


def test_region_is_all_of_one_class(explainer):
    answer = explainer.counterfactual(FRAME.iloc[[5]])
    rng = np.random.default_rng(1)
    for _ in range(50):
        row = dict(answer.point)
        for name in ("age", "income"):
            part = answer.region[name]
            low, high = max(part.lower, 0.0), min(part.upper, 100.0)
            drawn = float(rng.uniform(low, high))
            row[name] = int(np.clip(np.floor(drawn), low, high)) if name == "age" else drawn
        assert FOREST.predict(pd.DataFrame([row]))[0] == answer.target


@pytest.mark.parametrize("distance", list(polyflip.DISTANCES))
def test_every_distance(explainer, distance):
    answer = explainer.counterfactual(FRAME.iloc[[7]], distance=distance)
    other = explainer.counterfactual(FRAME.iloc[[7]], distance=distance, solver="ilp")
    assert answer.status == other.status == "optimal"
    assert other.cost == pytest.approx(answer.cost, rel=1e-9)


def test_sum_of_distances_and_weights(explainer):
    row = FRAME.iloc[[7]]
    both = explainer.counterfactual(row, distance={"l1-std": 1.0, "l0": 10.0})
    assert both.cost >= 10.0
    assert both.distance == "1 l1-std + 10 l0"
    heavy = explainer.counterfactual(row, weights={c.feature: 100.0 for c in both.changes}, distance="l0")
    assert {c.feature for c in heavy.changes}.isdisjoint(c.feature for c in both.changes)


def test_without_data_everything_works_with_distances_that_need_none():
    bare = Explainer(FOREST)
    answer = bare.counterfactual(FRAME.iloc[3].tolist())
    assert answer.distance == "hamming"
    assert answer.status == "optimal"
    assert bare.prime_implicant(FRAME.iloc[3].tolist()).sufficient
    with pytest.raises(PolyflipError, match="needs the training data"):
        bare.counterfactual(FRAME.iloc[3].tolist(), distance="l1-mad")


def test_weight_of_zero_still_moves_least(explainer):
    free = dict.fromkeys(("age", "income", "sex", "race"), 0.0)
    answer = explainer.counterfactual(FRAME.iloc[[3]], weights=free)
    fewest = explainer.counterfactual(FRAME.iloc[[3]], distance="l0")
    assert answer.cost == 0.0
    assert len(answer.changes) == len(fewest.changes)
    exact = explainer.counterfactual(FRAME.iloc[[3]], weights=free, solver="ilp")
    assert [c.feature for c in exact.changes] == [c.feature for c in answer.changes]


@pytest.mark.parametrize("vote", ["model", "majority"])
@pytest.mark.parametrize("encoding", ["tight", "paper"])
def test_three_classes_and_both_votes(vote, encoding):
    labels = np.where(AGES < 30, "young", np.where(AGES < 50, "middle", "old"))
    forest = ExtraTreesClassifier(6, max_depth=3, random_state=1).fit(FRAME, labels)
    explainer = Explainer(forest, FRAME, vote=vote)
    for row in range(4):
        any_other = explainer.counterfactual(FRAME.iloc[[row]], solver="ilp", encoding=encoding)
        each = [
            explainer.counterfactual(FRAME.iloc[[row]], target=label)
            for label in explainer.classes
            if label != any_other.decision
        ]
        assert any_other.cost == pytest.approx(min(answer.cost for answer in each), rel=1e-9)
        ballots = np.array([tree.predict(any_other.to_frame().to_numpy()) for tree in forest.estimators_])
        if vote == "majority":
            counts = np.bincount(ballots.ravel().astype(int), minlength=3)
            wanted = list(forest.classes_).index(any_other.target)
            assert counts[wanted] > len(forest.estimators_) / 2
        else:
            assert forest.predict(any_other.to_frame())[0] == any_other.target


@pytest.mark.parametrize("trees", [5, 6])
@pytest.mark.parametrize("solver", ["oracle", "search", "ilp"])
def test_most_votes_decide_but_only_more_than_half_win(solver, trees):
    """Of many classes one may have the most votes without a majority: it decides, but is no flip."""
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 4, (40, 2))
    forest = ExtraTreesClassifier(trees, max_depth=2, random_state=0).fit(seen, rng.integers(0, 3, 40))
    grid = np.array(list(itertools.product(range(4), repeat=2)))
    ballots = np.array([tree.predict(grid) for tree in forest.estimators_]).astype(int)
    votes = np.array([(ballots == k).sum(axis=0) for k in range(3)]).T
    assert (2 * votes.max(axis=1) <= trees).any()  # there are decisions without a majority
    explainer = Explainer(
        forest, seen, {"x1": {"lower": 0, "upper": 3}, "x2": {"lower": 0, "upper": 3}}, "majority"
    )
    moved = (grid[:, None] != grid).sum(axis=2)
    for x, own, far in zip(grid, votes, moved, strict=True):
        assert explainer.decision(x) == own.argmax()
        for target in set(range(3)) - {own.argmax()}:
            wins = 2 * votes[:, target] > trees
            answer = explainer.counterfactual(x, target, distance="l0", solver=solver)
            assert answer.found == wins.any()
            if answer.found:
                assert answer.cost == far[wins].min()
            else:
                assert "more than half of the votes" in answer.reason


def test_immutable_one_directional_bounded_and_listed_features():
    features = {
        "age": {"changes": "up", "upper": 80},
        "income": {"values": [20.0, 30.0, 40.0]},
        "sex": {"changes": "never"},
        "race": {"values": ["a", "b"]},
    }
    explainer = Explainer(FOREST, FRAME, features)
    for row in range(12):
        answer = explainer.counterfactual(FRAME.iloc[[row]])
        if answer.found:
            assert answer.point["age"] >= FRAME["age"][row]
            assert answer.point["age"] <= 80
            assert answer.point["sex"] == FRAME["sex"][row]
            assert answer.point["income"] in (20.0, 30.0, 40.0)
            assert answer.point["race_c"] == 0


def test_infeasible_is_a_proof_in_the_users_words(explainer):
    row = FRAME[LABELS == "no"].iloc[[0]]
    held = "age unchanged and income unchanged and sex unchanged and race unchanged"
    answer = explainer.counterfactual(row, where=held)
    assert answer.status == "infeasible"
    assert answer.point is None
    assert answer.cost == answer.bound == np.inf
    needed = [text for text in held.split(" and ") if text in answer.reason]
    assert needed
    for text in needed:  # each is needed: without it there is one
        assert explainer.counterfactual(row, where=[each for each in needed if each != text]).found
    assert len(answer.to_frame()) == 0
    assert json.loads(answer.to_json())["cost"] is None
    assert "impossible" in str(answer)
    assert explainer.robustness(row, where=held).status == "infeasible"
    clash = explainer.counterfactual(row, where="age > 50 and age < 40 and sex unchanged")
    assert "age > 50, age < 40" in clash.reason
    assert "sex" not in clash.reason


def test_model_of_one_class_and_constant_model():
    one = DecisionTreeClassifier().fit([[1.5], [2.5]], ["a", "a"])
    answer = Explainer(one, [[1.5], [2.5]]).counterfactual([1.5])
    assert answer.status == "infeasible"
    assert "one class only" in answer.reason
    stump = DecisionTreeClassifier(max_depth=1, min_samples_leaf=3).fit(
        [[1.5], [2.5], [3.5]], ["a", "a", "b"]
    )
    answer = Explainer(stump).counterfactual([1.5])
    assert answer.status == "infeasible"
    assert "no legal input at all" in answer.reason
    implicant = Explainer(stump).prime_implicant([1.5])
    assert implicant.features == ()
    assert implicant.sufficient


def test_float32_edges():
    """x = t may lie on the right of t after the cast; the answer lies where the model changes."""
    values = 1000 + np.arange(40) * 1e-4  # float32 has steps of 6e-5 here
    tree = DecisionTreeClassifier(random_state=0).fit(values[:, None], np.arange(40) % 2)
    explainer = Explainer(tree, values[:, None])
    for value in values:
        answer = explainer.counterfactual([value])
        assert tree.predict([[answer.point["x1"]]])[0] == answer.target
        region = answer.region["x1"]
        for end in (region.lower, region.upper):
            if np.isfinite(end):
                assert tree.predict([[end]])[0] == answer.target
        if np.isfinite(region.lower):
            assert np.float32(np.nextafter(region.lower, -1)) != np.float32(region.lower)


def cells_of_two_columns(forest):
    """All cells of a forest over two columns: one point inside each, and its lower and upper ends."""
    lows, highs = [], []
    for j in (0, 1):
        cuts = np.unique(
            np.concatenate([t.tree_.threshold[t.tree_.feature == j] for t in forest.estimators_])
        )
        lows.append(np.concatenate([[-np.inf], cuts]))
        highs.append(np.concatenate([cuts, [np.inf]]))
    low, high = (np.array(list(itertools.product(*ends))) for ends in (lows, highs))
    return np.clip((np.maximum(low, -1e3) + np.minimum(high, 1e3)) / 2, -1e3, 1e3), low, high


def test_a_tie_of_100_pure_trees_is_not_taken_for_an_answer():
    """With a tolerance of 1e-6 a 50 : 50 vote passes for a win; here the nearest "win" is such a tie."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data = rng.normal(size=(40, 2))
        labels = (data.sum(axis=1) + rng.normal(scale=0.7, size=40) > 0).astype(int)
        forest = RandomForestClassifier(100, random_state=seed).fit(data, labels)
        explainer = Explainer(forest, data)
        points, low, high = cells_of_two_columns(forest)
        votes = sum(tree.predict(points) for tree in forest.estimators_)
        for row in data[forest.predict(data) == 0][:8]:
            way = (np.maximum(0, np.maximum(low - row, row - high)) / data.std(axis=0)).sum(axis=1)
            tie, real = way[votes >= 50].min(), way[votes > 50].min()
            if tie < real - 1e-9:
                found += 1
                for solver in ("oracle", "ilp"):
                    answer = explainer.counterfactual(row, solver=solver)
                    assert answer.status == "optimal"
                    assert answer.cost == pytest.approx(real, rel=1e-5)
                    assert forest.predict(answer.to_frame().to_numpy())[0] == 1
    assert found >= 2


def test_missing_values_are_a_cell_where_the_model_routes_them():
    data = FRAME[["age", "income"]].astype(float)
    data.loc[::5, "income"] = np.nan
    labels = np.where(data["income"].isna() | (data["age"] > 50), 1, 0)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, labels)
    explainer = Explainer(tree, data)
    young = {"age": 30.0, "income": 25.0}
    answer = explainer.counterfactual(young, distance="l0")
    kept = explainer.counterfactual(young, where="income != missing")
    assert tree.predict(kept.to_frame())[0] == 1
    assert not np.isnan(kept.point["income"])
    gone = explainer.counterfactual(young, where="age unchanged")
    assert np.isnan(gone.point["income"])
    assert str(gone.region["income"]) == "missing"
    assert json.loads(gone.to_json())["point"]["income"] is None
    assert "missing" in str(gone)
    assert answer.cost == 1.0
    back = explainer.counterfactual({"age": 30.0, "income": np.nan})
    assert tree.predict(back.to_frame())[0] == 0
    assert explainer.prime_implicant({"age": 30.0, "income": np.nan}).sufficient


def test_leaving_missing_on_a_whole_number_column_gives_a_whole_number():
    data = np.array([[1.0], [2.0], [7.0], [8.0], [np.nan], [np.nan]])
    tree = DecisionTreeClassifier(random_state=0).fit(data, [0, 0, 0, 0, 1, 1])
    answer = Explainer(tree, data).counterfactual([np.nan])
    assert float(answer.point["x1"]).is_integer()
    assert tree.predict([[answer.point["x1"]]])[0] == 0


def test_missing_factual_without_data():
    data = np.array([[1.5, 2.5], [np.nan, 1.5], [3.5, 0.5], [np.nan, 2.5]])
    tree = DecisionTreeClassifier(random_state=0).fit(data, [0, 1, 0, 1])
    answer = Explainer(tree).counterfactual([np.nan, 1.5])
    assert tree.predict([[answer.point["x1"], answer.point["x2"]]])[0] == 0


def test_naive_bayes_of_both_kinds():
    codes = RNG.integers(0, 3, size=(120, 4))
    labels = (codes.sum(axis=1) > 4).astype(int)
    for model, data in (
        (CategoricalNB(), codes),
        (BernoulliNB(binarize=0.5), codes),
        (BernoulliNB(), codes > 1),
    ):
        model.fit(data, labels)
        explainer = Explainer(model, data.astype(int))
        for row in data[:6].astype(int):
            answers = [explainer.counterfactual(row, distance="l0", solver=s) for s in ("oracle", "ilp")]
            assert answers[0].cost == answers[1].cost
            assert model.predict(answers[0].to_frame().to_numpy())[0] == answers[0].target
            flip = explainer.prime_implicant(row, method="flip")
            least = explainer.prime_implicant(row)
            assert least.sufficient
            assert len(least) >= 1
            assert flip.sufficient in (True, False)


def test_prime_implicant_answers(explainer):
    row = FRAME.iloc[[3]]
    least = explainer.prime_implicant(row)
    assert least.status == "optimal"
    assert least.sufficient
    assert explainer.suffices(row, least.features)
    for name in least.features:
        without = explainer.suffices(row, set(least.features) - {name})
        assert not without
        assert "not enough" in str(without)
    assert "As long as" in str(least)
    assert "<table>" in least._repr_html_()
    assert json.loads(least.to_json())["features"] == list(least.features)
    with_sex = explainer.prime_implicant(row, where="sex unchanged")
    assert "sex" in with_sex.features
    assert with_sex.weight >= least.weight
    weighted = explainer.prime_implicant(row, weights=dict.fromkeys(least.features, 5.0))
    assert weighted.weight <= 5.0 * least.weight
    narrow = explainer.prime_implicant(row, where={"age": {">": int(FRAME["age"][3]) - 1}})
    assert len(narrow) <= len(least)


def test_insufficient_flip_shows_its_counterexample():
    votes = np.array(list(itertools.product((0, 1), repeat=3)))
    model = DecisionTreeClassifier(random_state=0).fit(votes, [1, 0, 0, 1, 0, 1, 1, 0])  # parity
    explainer = Explainer(model, votes)
    flip = explainer.prime_implicant([0, 0, 0], method="flip")
    assert len(flip) == 1
    assert flip.sufficient is False
    assert model.predict([list(flip.counterexample.values())])[0] != flip.decision
    assert "NOT enough" in str(flip)
    assert len(explainer.prime_implicant([0, 0, 0])) == 3


def test_out_of_time_is_said(explainer):
    answer = explainer.counterfactual(FRAME.iloc[[3]], solver="ilp", time_limit=1e-9)
    assert answer.status == "unknown"
    assert "nothing found" in str(answer)
    implicant = explainer.prime_implicant(FRAME.iloc[[3]], solver="ilp", time_limit=1e-9)
    assert implicant.status == "feasible"
    assert implicant.sufficient
    assert (
        explainer.prime_implicant(FRAME.iloc[[3]], "", "flip", solver="ilp", time_limit=1e-9).status
        == "unknown"
    )
    assert explainer.prime_implicant(FRAME.iloc[[3]], "", "minimal", solver="ilp", time_limit=1e-9).sufficient


def test_program_is_described_and_written(explainer, tmp_path):
    for encoding, suffix in itertools.product(("paper", "tight"), (".lp", ".mps")):
        program = explainer.program(FRAME.iloc[[3]], encoding=encoding, where="age > 20")
        path = program.write_program(tmp_path / f"program{suffix}")
        assert "age_le_" in path.read_text()
        assert f"{len(program.rows):,}" in program.describe()
        explainer.write_program(str(path), FRAME.iloc[[3]], encoding=encoding)
    assert "F*" in explainer.program(FRAME.iloc[[3]]).describe()
    with pytest.raises(PolyflipError, match=r"\.lp or \.mps"):
        explainer.write_program("program.txt", FRAME.iloc[[3]])
    with pytest.raises(PolyflipError, match="no folder"):
        explainer.write_program(str(tmp_path / "none" / "p.lp"), FRAME.iloc[[3]])


def test_program_without_named_row_has_the_solution_of_the_answer(explainer):
    program = explainer.program(FRAME.iloc[[3]], encoding="tight")
    assert program.solve().bound == pytest.approx(explainer.counterfactual(FRAME.iloc[[3]]).cost, abs=1e-6)


ROW = FRAME.iloc[3].to_dict()


@pytest.mark.parametrize(
    ("x", "question", "message"),
    [
        ([1.0], {}, "takes 6"),
        (FRAME, {}, "200 rows"),
        (ROW | {"shoe": 1}, {}, "no column 'shoe'"),
        ({k: v for k, v in ROW.items() if k != "age"}, {}, "no value for 'age'"),
        (ROW | {"age": "old"}, {}, "takes a number"),
        (ROW | {"age": 20.5}, {}, "whole numbers"),
        (ROW | {"age": np.inf}, {}, "infinite"),
        (ROW | {"sex": 2}, {}, "never seen"),
        (ROW | {"race_a": 1, "race_b": 1}, {}, "exactly one"),
        (ROW, {"target": "maybe"}, "no class"),
        (ROW, {"target": True}, "no class"),
        (ROW, {"target": FOREST.predict(FRAME)[3]}, "already"),
        (ROW, {"distance": "l7"}, "choose from"),
        (ROW, {"distance": {}}, "at least one"),
        (ROW, {"distance": {"l0": -1}}, "finite number"),
        (ROW, {"weights": {"shoe": 1}}, "no feature"),
        (ROW, {"weights": {"age": -1}}, "finite number"),
        (ROW, {"weights": {"age": "x"}}, "give a number"),
        (ROW, {"where": "shoe > 1"}, "no feature"),
        (ROW, {"solver": "magic"}, "choose"),
        (ROW, {"solver": "ilp", "encoding": "loose"}, "choose"),
        (ROW, {"encoding": "loose"}, "choose"),
        (ROW, {"solver": "search", "encoding": "loose"}, "choose"),
        (ROW, {"solver": OracleSolver(), "encoding": ["tight"]}, "choose"),
        (ROW, {"solver": "search", "encoding": "tight"}, "'search' has no encodings"),
        (ROW, {"solver": "oracle", "encoding": "paper"}, "'oracle' has no encodings"),
        (ROW, {"solver": OracleSolver(), "encoding": "paper"}, "OracleSolver has no encodings"),
        (ROW, {"solver": "magic", "encoding": "paper"}, "choose one of 'auto'"),
        (ROW, {"time_limit": 0}, "seconds"),
    ],
)
def test_wrong_input_is_an_error_that_says_what_is_right(explainer, x, question, message):
    for ask in (explainer.counterfactual, explainer.robustness):
        with pytest.raises(PolyflipError, match=message):
            ask(x, **question)


def test_an_encoding_decides_for_the_integer_program(explainer):
    for encoding in ("tight", "paper"):
        assert explainer.counterfactual(ROW, encoding=encoding).solver == f"ilp ({encoding})"
        assert explainer.robustness(ROW, encoding=encoding).counterfactual.solver == f"ilp ({encoding})"
    assert explainer.counterfactual(ROW, solver="ilp").solver == "ilp (tight)"


def test_wrong_prime_implicant_questions(explainer):
    with pytest.raises(PolyflipError, match="choose from"):
        explainer.prime_implicant(ROW, method="least")
    with pytest.raises(PolyflipError, match="not among the values"):
        explainer.prime_implicant(ROW, where="age > 1000")
    with pytest.raises(PolyflipError, match="no feature"):
        explainer.suffices(ROW, ["shoe"])
    with pytest.raises(PolyflipError, match="list of names"):
        explainer.suffices(ROW, "age")


def test_wrong_encoding_of_a_program(explainer):
    with pytest.raises(PolyflipError, match="choose"):
        explainer.program(ROW, encoding="loose")
    labels = np.where(AGES < 30, "young", np.where(AGES < 50, "middle", "old"))
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME, labels)
    with pytest.raises(PolyflipError, match="name the target"):
        Explainer(tree, FRAME).program(ROW)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier(), "not fitted"),
        (CategoricalNB(), "not fitted"),
        (LogisticRegression(), "supported are"),
        (RandomForestClassifier, "a class"),
        ("model.pkl", "supported are"),
        (DecisionTreeClassifier().fit([[1], [2]], [[0, 1], [1, 0]]), "2 outputs"),
    ],
)
def test_models_that_cannot_be_read(model, message):
    with pytest.raises(polyflip.ModelError, match=message):
        Explainer(model)


def test_votes_that_make_no_sense():
    with pytest.raises(polyflip.ModelError, match="choose 'model'"):
        Explainer(FOREST, vote="loud")
    bayes = BernoulliNB().fit([[0], [1]], [0, 1])
    with pytest.raises(polyflip.ModelError, match="for forests"):
        Explainer(bayes, vote="majority")


def test_zero_probabilities_are_refused():
    bayes = CategoricalNB(alpha=0.0, force_alpha=True)
    with np.errstate(divide="ignore"):
        bayes.fit([[0], [1]], [0, 1])
    with pytest.raises(polyflip.ModelError, match="alpha > 0"):
        Explainer(bayes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (FRAME.drop(columns="age"), "lacks"),
        (FRAME.iloc[:0], "no rows"),
        (FRAME.to_numpy()[:, :3], "takes 6"),
        (FRAME.assign(age="x"), "holds 'x'"),
    ],
)
def test_data_that_does_not_fit(data, message):
    with pytest.raises(PolyflipError, match=message):
        Explainer(FOREST, data)


def test_unnamed_model_takes_the_names_of_the_data():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME.to_numpy(), LABELS)
    assert Explainer(tree, FRAME).columns == tuple(FRAME.columns)
    with pytest.raises(PolyflipError, match="takes 6"):
        Explainer(tree, {"a": [1, 2]})


def test_missing_where_the_model_has_none():
    bayes = BernoulliNB().fit([[0], [1]], [0, 1])
    with pytest.raises(PolyflipError, match="missing"):
        Explainer(bayes).counterfactual([np.nan])


@pytest.mark.parametrize("vote", ["model", "majority"])
@pytest.mark.parametrize("data", [FRAME, pl.from_pandas(FRAME), dict(FRAME.items()), None])
def test_an_explainer_and_its_answers_can_be_pickled(vote, data):
    explainer = Explainer(FOREST, data, vote=vote)
    again = pickle.loads(pickle.dumps(explainer))
    row = FRAME.iloc[[3]] if data is None or vote == "model" else pl.from_pandas(FRAME.iloc[[3]])
    for ask in (Explainer.counterfactual, Explainer.prime_implicant, Explainer.robustness):
        first = ask(explainer, row)
        second = pickle.loads(pickle.dumps(ask(again, row)))
        assert str(first) == str(second)
        assert type(first) is type(second)
    assert pickle.loads(pickle.dumps(again)).decision(row) == explainer.decision(row)
    assert first.counterfactual.to_frame().equals(second.counterfactual.to_frame())


@pytest.mark.parametrize(
    "model",
    [
        CategoricalNB().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1]),
        BernoulliNB().fit([[0, 1], [1, 0], [1, 1]], ["no", "yes", "yes"]),
        DecisionTreeClassifier(random_state=0).fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1]),
    ],
)
def test_an_explainer_of_any_model_can_be_pickled(model):
    again = pickle.loads(pickle.dumps(Explainer(model)))
    assert str(again.counterfactual([0, 1])) == str(Explainer(model).counterfactual([0, 1]))


def test_every_answer_is_plain_values_text_and_a_table(explainer):
    features = {"age": {"unit": "years"}, "income": {"upper": 99, "unit": "EUR"}}
    explainer = Explainer(FOREST, FRAME, features)
    row = FRAME.iloc[[3]]
    enough, not_enough = explainer.suffices(row, FEATURES), explainer.suffices(row, ["sex"], where="age < 99")
    change = explainer.counterfactual(row, where="sex unchanged and race unchanged")
    implicant = explainer.prime_implicant(row, where="age < 99")
    for answer in (enough, not_enough, change, implicant, explainer.robustness(row)):
        assert json.loads(answer.to_json()) == json.loads(json.dumps(answer.to_dict()))
        assert answer._repr_html_().startswith("<div>")
    assert {each["feature"]: each["unit"] for each in change.to_dict()["changes"]}.items() <= {
        "age": "years",
        "income": "EUR",
    }.items()
    assert implicant.to_dict()["given"] == ["age < 99", "income as declared"]
    assert "is enough" in enough._repr_html_()
    assert "&lt; 99" in not_enough._repr_html_()
    assert all(f"<td>{column}</td>" in not_enough._repr_html_() for column in FRAME.columns)


def test_public_names():
    assert sorted(polyflip.__all__, key=str.lower) == sorted(set(polyflip.__all__), key=str.lower)
    for name in polyflip.__all__:
        assert hasattr(polyflip, name)
        public = getattr(polyflip, name)
        if isinstance(public, type):
            assert public.__doc__
            assert public.__module__.startswith("polyflip.")
