"""Certificates: they survive the file, confirm what is true, and are refused with the reason where it is not.

``POLYFLIP_SWEEP=5000 pytest test_certificates.py`` asks so many random questions instead of the default.
"""

import json
import os
import pickle
import random
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from polyflip import Certificate, CertificateError, Explainer, SolverError, Status, check
from polyflip.core.proof import CLOSED, SPLIT

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "100"))
DISTANCES = ("hamming", "l0", "l1-std", "l1-range", "gower", "rules-std")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 70, 300),
        "income": np.round(RNG.normal(30, 8, 300), 2),
        "sex": RNG.integers(0, 2, 300),
        "race": RNG.integers(0, 3, 300),
    }
)
LABELS = np.where((FRAME.age > 40) & (FRAME.income > 28) | (FRAME.race == 2) & (FRAME.sex == 1), "yes", "no")
FOREST = RandomForestClassifier(8, max_depth=4, random_state=0).fit(FRAME, LABELS)
RACES = {"race": {"categories": {0: "a", 1: "b", 2: "c"}}}
WHERE = "age <= 60 and sex unchanged"


@pytest.fixture(scope="module")
def answer():
    return Explainer(FOREST, FRAME, RACES).counterfactual(FRAME.iloc[[0]], where=WHERE)


@pytest.fixture(scope="module")
def certificate(answer):
    return answer.certificate


@pytest.fixture(scope="module")
def impossible():
    pinned = "age unchanged and income unchanged and race unchanged"
    return Explainer(FOREST, FRAME, RACES).counterfactual(FRAME.iloc[[0]], where=pinned)


def reloaded(certificate, folder):
    return Certificate.load(certificate.save(folder / "answer.cert"))


def with_header(certificate, folder, change):
    """The certificate's file with a changed header."""
    path = certificate.save(folder / "changed.cert")
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    changed = json.dumps(change(header)).encode()
    return rewritten(path, arrays | {"header": np.frombuffer(changed, dtype=np.uint8)})


def with_arrays(certificate, folder, **changes):
    """The certificate's file with other arrays of its first proof."""
    path = certificate.save(folder / "changed.cert")
    with np.load(path) as file:
        arrays = dict(file)
    return rewritten(path, arrays | {f"part0.{name}": array for name, array in changes.items()})


def rewritten(path, arrays):
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return path


# -- what is true ----------------------------------------------------------------------------------


def test_a_certificate_is_the_same_after_the_file(certificate, tmp_path):
    read = reloaded(certificate, tmp_path)
    for name in ("kind", "vote", "columns", "features", "decision", "target", "weights", "cost", "point"):
        assert getattr(read, name) == getattr(certificate, name)
    assert read.boxes == certificate.boxes >= 1
    assert all((one == other).all() for one, other in zip(read.prices, certificate.prices, strict=True))
    assert [c.text for c in read.conditions] == ["age <= 60", "sex unchanged"]


def test_an_answer_is_confirmed_from_the_file(certificate, tmp_path):
    confirmed = check(reloaded(certificate, tmp_path), FOREST)
    assert confirmed.claim.startswith("nothing cheaper than ")
    assert "flips 'yes'" in confirmed.claim
    assert confirmed.claim.endswith(", under: age <= 60, sex unchanged")
    assert any("prices are the certificate's own" in note for note in confirmed.notes)


def test_with_the_data_the_prices_are_confirmed_as_well(certificate, tmp_path):
    confirmed = check(reloaded(certificate, tmp_path), FOREST, FRAME)
    assert confirmed.notes == ()


def test_that_there_is_nothing_is_confirmed(impossible, tmp_path):
    assert impossible.status is Status.INFEASIBLE
    for data in (None, FRAME):
        confirmed = check(reloaded(impossible.certificate, tmp_path), FOREST, data)
        assert confirmed.claim.startswith("nothing that obeys the conditions flips 'yes'")


def test_a_clash_of_conditions_is_confirmed(tmp_path):
    clash = Explainer(FOREST, FRAME).counterfactual(FRAME.iloc[[0]], where="age > 60 and age < 50")
    assert clash.status is Status.INFEASIBLE
    check(reloaded(clash.certificate, tmp_path), FOREST)


def test_one_hot_groups_missing_values_and_declared_bounds_are_confirmed(tmp_path):
    frame = pd.get_dummies(FRAME.assign(race=FRAME.race.map({0: "a", 1: "b", 2: "c"})), dtype=float)
    frame.loc[::7, "income"] = np.nan
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(frame, LABELS)
    features = {"age": {"lower": 18, "upper": 80, "changes": "up"}, "income": {"weight": 2.0}}
    explainer = Explainer(forest, frame, features)
    for i in (0, 1, 7, 14):
        answer = explainer.counterfactual(frame.iloc[[i]], distance={"l1-std": 1.0, "l0": 0.5})
        check(reloaded(answer.certificate, tmp_path), forest, frame)


def test_a_large_forest_leaves_a_small_file(tmp_path):
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(FRAME, LABELS)
    answer = Explainer(forest, FRAME).counterfactual(FRAME.iloc[[0]])
    path = answer.certificate.save(tmp_path / "answer.cert")
    assert path.stat().st_size < 1_000_000
    check(Certificate.load(path), forest, FRAME)


def test_a_class_that_cannot_be_reached_is_proved_beside_one_that_can():
    rows = np.array([[i >> k & 1 for k in range(4)] for i in range(16)])
    labels = np.where(rows[:, 3] == 1, 2, rows[:, :3].all(axis=1))
    tree = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    answer = Explainer(tree, rows).counterfactual([0, 0, 0, 0], where="x4 unchanged", distance="hamming")
    assert (answer.target, answer.cost) == (1, 3.0)
    check(answer.certificate, tree, rows)


def random_question(seed):
    """A random model, its data or none, and an answer."""
    rng = np.random.default_rng(seed)
    rows, classes = int(rng.integers(20, 120)), int(rng.integers(2, 4))
    table = np.column_stack(
        [
            rng.normal(size=rows),
            rng.integers(0, 6, rows),
            rng.integers(0, 2, rows),
            rng.integers(0, 3, rows),
            rng.normal(size=rows).round(1),
        ]
    )
    noise, third = rng.integers(0, classes, rows), (table[:, 4] > 1) * (classes - 2)
    labels = noise if rng.random() < 0.4 else (table[:, :2].sum(axis=1) > table[:, 3]) + third
    trees, depth = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    kind = str(rng.choice(["tree", "forest", "extra", "bernoulli", "categorical"]))
    if kind == "categorical":
        table = np.abs(table).round().astype(int)
    if kind == "bernoulli":
        table = (table > 0.5).astype(int)
    model = {
        "tree": DecisionTreeClassifier(max_depth=depth, random_state=0),
        "forest": RandomForestClassifier(trees, max_depth=depth, random_state=0),
        "extra": ExtraTreesClassifier(trees, max_depth=depth, random_state=0),
        "bernoulli": BernoulliNB(),
        "categorical": CategoricalNB(),
    }[kind].fit(table, labels)
    vote = "majority" if kind in ("forest", "extra") and rng.random() < 0.4 else "model"
    data = table if rng.random() < 0.7 else None
    explainer = Explainer(model, data, vote=vote)
    wishes = [f"{name} {rng.choice(['unchanged', 'increases', 'decreases'])}" for name in explainer.columns]
    where = [wish for wish in wishes if rng.random() < 0.3]
    distance = "hamming" if data is None else str(rng.choice(DISTANCES))
    return model, data, explainer.counterfactual(table[rng.integers(rows)], where=where, distance=distance)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=SWEEP, deadline=None)
@example(seed=690)
@example(seed=1637)
@example(seed=2999)
@example(seed=10555)
@example(seed=100764)
def test_every_proved_answer_has_a_certificate_that_is_confirmed(seed, tmp_path_factory):
    model, data, answer = random_question(seed)
    folder = tmp_path_factory.getbasetemp()
    check(reloaded(answer.certificate, folder), model)
    if data is not None:
        check(answer.certificate, model, data)


# -- what has none ---------------------------------------------------------------------------------


def test_what_is_not_proved_has_no_certificate():
    slow = RandomForestClassifier(60, max_depth=8, random_state=0).fit(FRAME, LABELS)
    answer = Explainer(slow, FRAME).counterfactual(
        FRAME.iloc[[0]], solver="search", callback=lambda incumbent, bound, elapsed: incumbent is not None
    )
    assert answer.status is Status.FEASIBLE
    with pytest.raises(SolverError, match="feasible"):
        _ = answer.certificate


def test_a_pickled_answer_says_to_ask_for_its_certificate_before(answer):
    with pytest.raises(SolverError, match="before pickling"):
        _ = pickle.loads(pickle.dumps(replace(answer))).certificate


# -- tampering -------------------------------------------------------------------------------------


def of_part(certificate, **changes):
    (part,) = certificate.parts
    return replace(certificate, parts=(replace(part, **changes),))


def of_proof(certificate, **changes):
    (part,) = certificate.parts
    return of_part(certificate, proof=replace(part.proof, **changes))


def of_condition(certificate, **changes):
    first, *rest = certificate.conditions
    return replace(certificate, conditions=(replace(first, **changes), *rest))


def of_feature(certificate, j, **changes):
    features = list(certificate.features)
    features[j] = replace(features[j], **changes)
    return replace(certificate, features=tuple(features))


NOTHING = {
    "kind": np.array([CLOSED]),
    "feature": np.array([-1]),
    "cut": np.array([-1]),
    "lam": np.zeros((1, 1)),
    "slots": np.array([0, 0]),
    "pieces": np.array([0]),
    "theta": np.zeros(0),
    **dict.fromkeys(("slot_tree", "slot_feature", "piece_cell"), np.zeros(0, dtype=np.int64)),
}
TAMPERED = {
    "cost raised": (lambda c: replace(c, cost=c.cost * 1.01), "does not reach the cost"),
    "cost raised a little": (lambda c: replace(c, cost=c.cost * (1 + 1e-7)), "does not reach the cost"),
    "cost lowered": (lambda c: replace(c, cost=c.cost * 0.99), "the point costs"),
    "cost infinite": (lambda c: replace(c, cost=np.inf), "does not reach the cost"),
    "cost no number": (lambda c: replace(c, cost=np.nan), "the proof fails"),
    "point removed": (lambda c: replace(c, point=None), "there is no point, but a cost"),
    "nothing exists": (lambda c: replace(c, point=None, cost=np.inf), "does not reach the cost"),
    "point elsewhere": (lambda c: replace(c, point={**c.point, "income": 5.0}), "the point costs"),
    "point outside": (lambda c: replace(c, point={**c.point, "age": 61}), "breaks the conditions.* age"),
    "point incomplete": (lambda c: replace(c, point={"age": 50}), "does not fit.*income"),
    "point unknown": (lambda c: replace(c, point={**c.point, "race": 9}), "race.* is 9"),
    "prices of nothing": (lambda c: replace(c, prices=tuple(p * 0 for p in c.prices)), "does not reach"),
    "prices doubled": (lambda c: replace(c, prices=tuple(p * 2 for p in c.prices)), "the point costs"),
    "prices negative": (lambda c: replace(c, prices=tuple(-p for p in c.prices)), "price is negative"),
    "prices missing": (lambda c: replace(c, prices=c.prices[:-1]), "prices do not fit"),
    "a price missing": (lambda c: replace(c, prices=tuple(p[1:] for p in c.prices)), "prices do not fit"),
    "conditions dropped": (lambda c: replace(c, conditions=()), "does not reach the cost"),
    "condition loosened": (lambda c: of_condition(c, values=(70,), text="age <= 70"), "does not reach"),
    "condition of no feature": (lambda c: of_condition(c, feature=17), "condition|question"),
    "condition of a feature from behind": (lambda c: of_condition(c, feature=-4), "condition"),
    "condition unknown": (lambda c: of_condition(c, op="??"), "condition"),
    "target decided already": (lambda c: replace(c, target="yes"), "decided already"),
    "target unknown": (lambda c: replace(c, target="perhaps"), "no class of the model"),
    "row decided otherwise": (lambda c: replace(c, factual=c.point), "the model decides 'no' here"),
    "row incomplete": (lambda c: replace(c, factual={"age": 20}), "row does not fit.*income"),
    "row of words": (lambda c: replace(c, factual={**c.factual, "age": "old"}), "row does not fit.*age"),
    "row too large": (
        lambda c: replace(c, factual={**c.factual, "income": 1e300}),
        "row does not fit.*income",
    ),
    "decision": (lambda c: replace(c, decision="no"), "the model decides 'yes' here, not 'no'"),
    "vote": (lambda c: replace(c, vote="majority"), "refused"),
    "vote unknown": (lambda c: replace(c, vote="all"), "vote"),
    "model's kind": (lambda c: replace(c, kind="BernoulliNB"), "certificate is of a BernoulliNB"),
    "columns turned": (lambda c: replace(c, columns=c.columns[::-1]), "other columns"),
    "columns dropped": (lambda c: replace(c, columns=c.columns[1:]), "other columns"),
    "parts dropped": (lambda c: replace(c, parts=()), "one proof for every class"),
    "parts twice": (lambda c: replace(c, parts=c.parts * 2), "one proof for every class"),
    "part of another class": (lambda c: of_part(c, target=1), "one proof for every class"),
    "a point passed over": (lambda c: of_part(c, passed=np.zeros((1, 4), np.int64)), "passed over"),
    "boxes dropped": (lambda c: of_proof(c, kind=np.full(1, SPLIT)), "proof fails"),
    "boxes closed": (lambda c: of_proof(c, **NOTHING), "does not reach the cost"),
    "multipliers gone": (lambda c: of_proof(c, lam=c.parts[0].proof.lam[:0]), "proof fails"),
    "multipliers negative": (lambda c: of_proof(c, lam=-1 - c.parts[0].proof.lam), "multiplier"),
    "distance unknown": (lambda c: replace(c, distance="banana"), "banana"),
    "distance": (lambda c: replace(c, distance="hamming"), "prices are not those of the distance"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_refused_with_the_reason(certificate, name):
    tamper, reason = TAMPERED[name]
    with pytest.raises(CertificateError, match=reason):
        check(tamper(certificate), FOREST)


def test_the_point_must_flip_the_model():
    """Where the row is costs nothing, and nothing costs less: but the model does not decide it otherwise."""
    certificate = Explainer(FOREST, FRAME, RACES).counterfactual(FRAME.iloc[[0]]).certificate
    with pytest.raises(CertificateError, match="does not decide the point"):
        check(replace(certificate, point=certificate.factual, cost=0.0), FOREST, FRAME)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda c: replace(c, factual={**c.factual, "age": 20}),
        lambda c: replace(c, prices=tuple(p * 2 for p in c.prices), cost=c.cost * 2),
        lambda c: replace(c, weights={"age": 2.0}),
        lambda c: replace(c, distance="l1-range"),
        lambda c: of_feature(c, 0, weight=3.0),
    ],
    ids=["row", "prices and cost", "weights", "distance", "declared weight"],
)
def test_with_the_data_what_bears_on_prices_is_refused(certificate, tamper):
    (part,) = certificate.parts
    changed = tamper(certificate)
    if changed.cost != certificate.cost:
        changed = of_proof(changed, unit=part.proof.unit * 2)
    with pytest.raises(CertificateError, match="prices are not those of the distance"):
        check(changed, FOREST, FRAME)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(8, max_depth=4, random_state=1).fit(FRAME, LABELS),
        RandomForestClassifier(8, max_depth=4, random_state=0).fit(FRAME, LABELS[::-1]),
        RandomForestClassifier(8, max_depth=4, random_state=0).fit(FRAME.iloc[:, ::-1], LABELS),
        RandomForestClassifier(8, max_depth=4, random_state=0).fit(FRAME.iloc[:, 1:], LABELS),
        DecisionTreeClassifier(max_depth=4, random_state=0).fit(FRAME, LABELS),
        RandomForestClassifier(8, max_depth=4, random_state=0).fit(FRAME, LABELS == "yes"),
    ],
    ids=["other trees", "other labels", "other order", "fewer columns", "another kind", "other classes"],
)
def test_another_model_is_refused(certificate, model):
    with pytest.raises(CertificateError, match="refused: "):
        check(certificate, model)


def test_one_tree_more_or_less_is_another_model(certificate):
    fewer = RandomForestClassifier(8, max_depth=4, random_state=0).fit(FRAME, LABELS)
    fewer.estimators_ = fewer.estimators_[:7]
    with pytest.raises(CertificateError, match="refused: "):
        check(certificate, fewer)


# -- what the claim must not hide ------------------------------------------------------------------


def test_a_condition_says_what_it_means(certificate):
    """The claim repeats the text of a condition, so the text must be that of what was proved."""
    with pytest.raises(CertificateError, match="condition"):
        check(of_condition(certificate, text="age <= 99"), FOREST)


def test_a_feature_is_called_what_its_column_is_called(certificate):
    swapped = of_feature(of_feature(certificate, 0, name="income"), 1, name="age")
    with pytest.raises(CertificateError, match=r"income|age"):
        check(swapped, FOREST)


def test_a_group_is_not_called_what_a_column_is_called():
    """A condition on the group would read as one on the column."""
    frame = pd.get_dummies(FRAME.assign(race=FRAME.race.map({0: "a", 1: "b", 2: "c"})), dtype=int)
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(frame, LABELS)
    answer = Explainer(forest, frame).counterfactual(frame.iloc[[0]], where="race unchanged")
    honest = of_feature(answer.certificate, 3, name="income")
    proof = honest.parts[0].proof
    assert check(answer.certificate, forest)
    *others, race = honest.features
    first = replace(honest, features=(race, *others), prices=(honest.prices[3], *honest.prices[:3]))
    first = of_condition(first, feature=0, text="income unchanged")
    first = of_proof(
        first,
        slot_feature=(proof.slot_feature + 1) % 4,
        feature=np.where(proof.feature < 0, proof.feature, (proof.feature + 1) % 4),
    )
    with pytest.raises(CertificateError, match="income"):
        check(first, forest)


@pytest.mark.parametrize(("x", "target"), [(0.0, "far"), (3.0, "near")], ids=["dearer", "out of reach"])
def test_a_claim_names_the_class_that_was_asked_for(x, target):
    """Another class is nearer, so that it is not true that nothing cheaper flips the decision."""
    data = np.arange(9.0)[:, None]
    tree = DecisionTreeClassifier(random_state=0).fit(data, np.repeat(["near", "middle", "far"], 3))
    explainer = Explainer(tree, data, {"x1": {"changes": "up"}})
    asked, any_other = (explainer.counterfactual([x], target=wanted) for wanted in (target, None))
    assert any_other.cost < asked.cost
    assert repr(target) in check(asked.certificate, tree, data).claim


def test_a_claim_names_the_kinds_that_leave_out_values():
    """Without the data nobody knows that incomes are whole but who made the certificate."""
    answer = Explainer(FOREST, features={"income": "integer"}).counterfactual([62, 29, 1, 2])
    said = str(check(answer.certificate, FOREST))
    assert "income" in said
    assert "integer" in said or "whole" in said


def test_with_the_data_a_kind_that_it_contradicts_is_refused():
    """Whole numbers leave fewer points to prove anything of; the incomes of the data are not whole."""
    declared = Explainer(FOREST, features={"income": "integer"})
    answer = declared.counterfactual({"age": 62, "income": 29, "sex": 1, "race": 2})
    with pytest.raises(CertificateError, match="income"):
        check(answer.certificate, FOREST, FRAME)


def test_a_claim_says_that_it_is_of_a_majority_vote():
    answer = Explainer(FOREST, FRAME, vote="majority").counterfactual(FRAME.iloc[[0]])
    assert "majority vote" in check(answer.certificate, FOREST, FRAME).claim


def test_a_claim_names_what_was_declared():
    declared = {"age": {"changes": "never"}, "income": {"changes": "never"}, "race": {"changes": "never"}}
    answer = Explainer(FOREST, FRAME, declared).counterfactual(FRAME.iloc[[0]])
    assert answer.status is Status.INFEASIBLE
    said = str(check(answer.certificate, FOREST, FRAME))
    assert all(name in said for name in declared)


def test_a_claim_names_the_weights():
    answer = Explainer(FOREST, FRAME).counterfactual(FRAME.iloc[[0]], weights={"age": 1000.0})
    assert "age" in str(check(answer.certificate, FOREST, FRAME))


# -- damaged files ---------------------------------------------------------------------------------


def refused(path, model=FOREST):
    """Whether loading and checking a file is refused, with nothing else raised."""
    try:
        check(Certificate.load(path), model)
    except CertificateError:
        return True
    return False


def test_a_file_that_is_missing_or_no_certificate(tmp_path):
    for content in (b"", b"PK", b"not a certificate", b"PK\x05\x06" + b"\0" * 18):
        path = tmp_path / "file.cert"
        path.write_bytes(content)
        with pytest.raises(CertificateError, match=r"file\.cert"):
            Certificate.load(path)
    with pytest.raises(CertificateError, match="No such file"):
        Certificate.load(tmp_path / "none.cert")
    with pytest.raises(CertificateError, match="directory"):
        Certificate.load(tmp_path)


def test_a_path_that_cannot_be_written(certificate, tmp_path):
    with pytest.raises(CertificateError, match="cannot be written"):
        certificate.save(tmp_path / "none" / "answer.cert")


def test_an_archive_of_other_things(tmp_path):
    path = tmp_path / "file.cert"
    np.savez(path.with_suffix(".npz"), theta=np.zeros(3))
    with pytest.raises(CertificateError):
        Certificate.load(path.with_suffix(".npz"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", "nothing")
    with pytest.raises(CertificateError):
        Certificate.load(path)


def test_a_file_cut_short(certificate, tmp_path):
    path = certificate.save(tmp_path / "answer.cert")
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 50)):
        path.write_bytes(content[:length])
        assert refused(path)


@pytest.mark.parametrize("seed", range(5))
def test_a_file_with_a_few_other_bytes(certificate, tmp_path, seed):
    rng = random.Random(seed)
    path = certificate.save(tmp_path / "answer.cert")
    content = path.read_bytes()
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 3])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        refused(path)


def test_another_format_is_told(certificate, tmp_path):
    path = with_header(certificate, tmp_path, lambda header: header | {"format": 2})
    with pytest.raises(CertificateError, match="another version"):
        Certificate.load(path)


def of_first(header, **changes):
    return header | {"features": [header["features"][0] | changes, *header["features"][1:]]}


def of_last(header, **changes):
    return header | {"features": [*header["features"][:-1], header["features"][-1] | changes]}


HEADERS = {
    "a list": lambda header: [],
    "nothing": lambda header: None,
    "more than there is": lambda header: header | {"more": 1},
    "columns: nothing": lambda header: header | {"columns": None},
    "columns: numbers": lambda header: header | {"columns": [1, 2, 3, 4]},
    "cost: a word": lambda header: header | {"cost": "1"},
    "cost: nothing": lambda header: header | {"cost": None},
    "distance: a number": lambda header: header | {"distance": 1},
    "distance: lists": lambda header: header | {"distance": [["l0"]]},
    "weights: a list": lambda header: header | {"distance": "hamming", "weights": [1]},
    "vote: nothing": lambda header: header | {"vote": None},
    "row: nothing": lambda header: header | {"factual": None},
    "row: a list": lambda header: header | {"factual": [1]},
    "row: infinite": lambda header: header | {"factual": header["factual"] | {"age": float("inf")}},
    "point: a list": lambda header: header | {"point": [1]},
    "point: a word": lambda header: header | {"point": "abc"},
    "features: none": lambda header: header | {"features": []},
    "features: fewer": lambda header: header | {"features": header["features"][:2]},
    "columns of a feature: nothing": lambda header: of_first(header, columns=None),
    "columns of a feature: none": lambda header: of_first(header, columns=[]),
    "values of a feature: words": lambda header: of_first(header, values=["x"]),
    "codes of a feature: none": lambda header: of_last(header, codes=[]),
    "codes of a feature: words": lambda header: of_last(header, codes=["x"]),
    "condition of an infinite feature": lambda header: (
        header | {"conditions": [[1e999, "<=", [60], "age <= 60"]]}
    ),
    "condition without text": lambda header: header | {"conditions": [[0, "<=", [60], None]]},
    "condition on a word": lambda header: header | {"conditions": [[0, "<=", ["x"], "age <= 60"]]},
    "condition on nothing": lambda header: header | {"conditions": [[0, "<=", [], "age <= 60"]]},
    "conditions: a number": lambda header: header | {"conditions": 1},
    "parts: nothing": lambda header: header | {"parts": None},
    "class infinite": lambda header: header | {"parts": [[1e999, 1.0, False]]},
    "unit zero": lambda header: header | {"parts": [[0, 0.0, False]]},
    "unit tiny": lambda header: header | {"parts": [[0, 5e-324, False]]},
    "unit a word": lambda header: header | {"parts": [[0, "x", False]]},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_of_other_types_is_refused(certificate, tmp_path, name):
    assert refused(with_header(certificate, tmp_path, HEADERS[name]))


def test_a_header_nested_without_end_is_refused(certificate, tmp_path):
    path = certificate.save(tmp_path / "answer.cert")
    with np.load(path) as file:
        arrays = dict(file)
    nested = np.frombuffer(b"[" * 200_000, dtype=np.uint8)
    assert refused(rewritten(path, arrays | {"header": nested}))


@pytest.mark.parametrize(
    "changes",
    [
        {"long": np.array([10**9]), "long_theta": np.array([1.0])},
        {"theta": np.array(1.0)},
        {"theta": np.array([np.nan])},
        {"kind": np.array([[2], [0]])},
        {"kind": np.array(["a"])},
        {"kind": np.array([np.nan])},
        {"passed": np.array(1)},
        {"passed": np.zeros((1, 1, 4), dtype=np.int64)},
        {"passed": np.zeros((1, 2), dtype=np.int64)},
        {"passed": np.full((1, 4), 10**6)},
        {"scale": np.array([2**62])},
        {"pieces": np.array([0, 2**60])},
    ],
    ids=lambda changes: ", ".join(f"{name} {array.shape}" for name, array in changes.items()),
)
def test_arrays_that_do_not_fit_are_refused(certificate, tmp_path, changes):
    assert refused(with_arrays(certificate, tmp_path, **changes))


def test_an_array_larger_than_all_memory_is_refused(certificate, tmp_path):
    path = certificate.save(tmp_path / "answer.cert")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 15 + b",), }"
    start = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("part9.theta.npy", start + header.ljust(117) + b"\n")
    assert refused(path)


def test_a_file_that_claims_there_is_nothing_is_refused(certificate, tmp_path):
    """Both halves of a split lack a feature's cells each: so nothing would be left anywhere."""
    sizes = [len(price) for price in certificate.prices]
    feature = np.repeat(np.arange(len(sizes)), sizes)
    cut = np.where(feature == 0, 10**6, 0)
    arrays = {
        "kind": np.array([SPLIT, CLOSED, CLOSED]),
        "feature": np.stack([feature] * 3),
        "cut": np.stack([cut] * 3),
        "lam": np.zeros((3, 1)),
        "slots": np.zeros(4, dtype=np.int64),
    }
    false = replace(certificate, point=None, cost=np.inf)
    assert refused(with_arrays(false, tmp_path, **arrays))
