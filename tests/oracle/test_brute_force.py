"""polyflip against a brute force over every cell, on small random models.

What is random: trees, forests, extremely random trees and naive Bayes; even numbers of trees, pure and
single-leaf trees, forests made to tie; 2 and 3 classes; numeric columns (also with values that collapse in
float32), whole numbers, binary, categories, one-hot groups, constant columns, columns with missing values,
declared kinds, bounds, values and directions; both votes; every distance, weights, solvers, encodings;
conditions that clip, strike out or contradict; factuals on the very edge of a rule.  The truth is
``brute.py``, which shares no code with the package.

``POLYFLIP_SWEEP=5000 pytest test_brute_force.py`` runs so many seeds per test instead of the default.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from brute import DISTANCES, Brute, Cell, Condition, Feature, same
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from polyflip import ConditionError, Explainer

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "120"))
GRID = 12_000  # a model with more cells is drawn again
COST = 1e-9  # how far (relative) two equal costs may lie apart
SHOWN = 4e-6  # so far may a shown number be rounded inside its cell, relative to it and to the move

NUMBERS = ("numeric", "integer")
KINDS = [
    "gauss",
    "gauss",
    "hostile",
    "rounded",
    "constant",
    "skewed",
    "integer",
    "large",
    "binary",
    "one-hot",
]


@dataclass
class Case:
    """A model, what is known about its columns, and the random numbers to ask it with."""

    rng: np.random.Generator
    brute: Brute
    explainer: Explainer
    table: np.ndarray
    with_data: bool

    @property
    def features(self) -> Sequence[Feature]:
        return self.brute.features

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)


# -- random columns, models, rows ------------------------------------------------------------------


def _numbers(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    match kind:
        case "hostile":
            return 0.1 + rng.integers(0, 40, n) * 1e-9
        case "rounded":
            return np.round(rng.normal(size=n), 1)
        case "constant":
            return np.full(n, rng.choice([0.0, 1.5, 3.0, -2.0]))
        case "skewed":  # mostly one value: MAD and IQR are zero
            return np.where(rng.random(n) < 0.85, 2.5, rng.normal(size=n) * 10)
        case "integer":
            return rng.integers(-3, 6, n).astype(float)
        case "large":  # past 2**24 not every whole number is a float32
            return 2.0**24 + rng.integers(0, 12, n)
        case "binary":
            return rng.integers(0, 2, n).astype(float)
    return rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)


def _tree_columns(
    rng: np.random.Generator, n: int, with_data: bool
) -> tuple[np.ndarray, list[Feature], dict[str, Any]]:
    """A table, what its features are, and what has to be declared about them."""
    columns: list[np.ndarray] = []
    features: list[Feature] = []
    declared: dict[str, Any] = {}
    for _ in range(rng.integers(1, 6)):
        kind, j = str(rng.choice([*KINDS, "category"] if with_data else KINDS)), len(columns)
        name = f"x{j + 1}"
        if kind == "one-hot":
            k = int(rng.integers(2, 4))
            columns += list(np.eye(k)[rng.integers(0, k, n)].T)
            name = f"group{j}"
            declared[name] = {"kind": "one-hot", "columns": [f"x{j + i + 1}" for i in range(k)]}
            features.append(Feature(name, "one-hot", tuple(range(j, j + k)), tuple(map(float, range(k)))))
            continue
        column = rng.choice([0.0, 2.0, 5.0, 7.0], n) if kind == "category" else _numbers(rng, kind, n)
        if rng.random() < 0.25:
            column[1:][rng.random(n - 1) < 0.25] = math.nan
        columns.append(column)
        levels = tuple(float(value) for value in np.unique(column[~np.isnan(column)]))
        if kind == "category":
            declared[name] = {"kind": "category"}
            feature = Feature(name, "category", (j,), levels)
        elif not with_data:
            feature = Feature(name, "numeric", (j,))
        elif set(levels) <= {0.0, 1.0}:
            feature = Feature(name, "binary", (j,), (0.0, 1.0))
        else:
            whole = all(level == math.floor(level) for level in levels)
            feature = Feature(name, "integer" if whole else "numeric", (j,))
        features.append(_declare(rng, feature, column, declared))
    return np.column_stack(columns), features, declared


def _declare(
    rng: np.random.Generator, feature: Feature, column: np.ndarray, declared: dict[str, Any]
) -> Feature:
    """Sometimes the user knows better: another kind, a direction, bounds, a list of values."""
    words: dict[str, Any] = {}
    levels = tuple(float(value) for value in np.unique(column))
    if feature.kind in ("integer", "binary") and rng.random() < 0.2:
        feature = replace(feature, kind="numeric", categories=())
        words["kind"] = "numeric"
    if rng.random() < 0.15:
        wishes = ["never", "up", "down"] if feature.kind != "category" else ["never"]
        feature = replace(feature, changes=str(rng.choice(wishes)))
        words["changes"] = feature.changes
    if feature.kind in NUMBERS:
        if rng.random() < 0.15:
            feature = replace(feature, lower=float(np.nanmin(column)), upper=float(np.nanmax(column)) + 1.0)
            words |= {"lower": feature.lower, "upper": feature.upper}
        elif rng.random() < 0.1 and not np.isnan(column).any():
            feature = replace(feature, values=levels)
            words["values"] = list(levels)
    if words:
        declared[feature.name] = {**declared.get(feature.name, {}), **words}
    return feature


def _labels(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    """Labels that depend on the columns, with noise; every class occurs."""
    filled = np.nan_to_num(table, nan=float(rng.normal()))
    spread = filled.std(axis=0)
    score = ((filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1)) @ rng.normal(
        size=table.shape[1]
    )
    score += rng.normal(size=len(table)) * rng.choice([0.1, 1.0])
    k = int(rng.choice([2, 2, 3]))
    names = [[0, 1, 2], ["no", "yes", "maybe"], [7, -1, 3]][rng.integers(3)][:k]
    ranks = np.argsort(np.argsort(score))
    return np.array(names)[np.minimum(ranks * k // len(score), k - 1)]


def _forest(rng: np.random.Generator) -> Any:
    depth = rng.choice([1, 2, 3, 4, None], p=[0.1, 0.3, 0.3, 0.15, 0.15])
    common = {
        "max_depth": depth,
        "random_state": int(rng.integers(1000)),
        "criterion": str(rng.choice(["gini", "entropy"])),
        "class_weight": "balanced" if rng.random() < 0.15 else None,
        "min_samples_leaf": int(rng.choice([1, 1, 1, 3])),
    }
    kind = rng.choice(["tree", "forest", "extra"], p=[0.2, 0.5, 0.3])
    if kind == "tree":
        return DecisionTreeClassifier(splitter=str(rng.choice(["best", "random"])), **common)
    trees = int(rng.integers(1, 8))
    if kind == "forest":
        return RandomForestClassifier(trees, bootstrap=bool(rng.random() < 0.8), **common)
    return ExtraTreesClassifier(trees, **common)


def forest_case(seed: int) -> Case:
    """A random tree or forest that is small enough to try everything."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.choice([8, 15, 40]))
        with_data = bool(rng.random() < 0.85)
        table, features, declared = _tree_columns(rng, n, with_data)
        sample_weight = rng.random(n) + 0.1 if rng.random() < 0.1 else None
        model = _forest(rng).fit(table, _labels(rng, table), sample_weight=sample_weight)
        lacking = np.flatnonzero(np.isnan(table).any(axis=0)).tolist() if with_data else []
        vote = str(rng.choice(["model", "majority"]))
        brute = Brute(model, features, table if with_data else None, vote, frozenset(lacking))
        if brute.size <= GRID:
            explainer = Explainer(model, table if with_data else None, features=declared or None, vote=vote)
            return Case(rng, brute, explainer, table, with_data)


def tie_case(seed: int) -> Case:
    """A forest of few rows and few values, whose mean probabilities often tie but for rounding."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(6, 13)), int(rng.integers(1, 4))
    table = rng.integers(0, 4, (n, width)).astype(float)
    labels = rng.permutation(np.arange(n) % int(rng.choice([2, 3])))
    model = RandomForestClassifier(
        int(rng.integers(2, 7)),
        max_depth=rng.choice([1, 2, None]),
        min_samples_leaf=int(rng.integers(1, 4)),
        random_state=int(rng.integers(1000)),
    ).fit(table, labels)
    features = [Feature(f"x{j + 1}", "numeric", (j,)) for j in range(width)]
    vote = str(rng.choice(["model", "model", "majority"]))
    declared = {feature.name: "numeric" for feature in features}
    return Case(
        rng, Brute(model, features, table, vote), Explainer(model, table, declared, vote), table, True
    )


def bayes_case(seed: int) -> Case:
    """A random naive Bayes model over categories, or over numbers that it cuts in two."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.choice([10, 40])), int(rng.integers(1, 6))
    alpha = float(rng.choice([1.0, 0.5, 0.01]))
    with_data = bool(rng.random() < 0.7)
    kind = rng.choice(["categorical", "bits", "cut"])
    prior = bool(rng.random() < 0.5)
    if kind == "categorical":
        table = rng.integers(0, 4, (n, width)).astype(float)
        labels = _labels(rng, table)
        model = CategoricalNB(alpha=alpha, fit_prior=prior, min_categories=int(rng.choice([1, 5])))
        model.fit(table, labels)
        features = [
            Feature(f"x{j + 1}", "category", (j,), tuple(map(float, range(k))))
            for j, k in enumerate(model.n_categories_)
        ]
    elif kind == "bits":
        table = rng.integers(0, 2, (n, width)).astype(float)
        labels = _labels(rng, table)
        model = BernoulliNB(alpha=alpha, fit_prior=prior, binarize=None).fit(table, labels)
        features = [Feature(f"x{j + 1}", "binary", (j,), (0.0, 1.0)) for j in range(width)]
    else:
        table = rng.normal(size=(n, width))
        labels = _labels(rng, table)
        cut = float(rng.choice([0.0, 0.1, 0.3]))
        model = BernoulliNB(alpha=alpha, fit_prior=prior, binarize=cut).fit(table, labels)
        features = [Feature(f"x{j + 1}", "numeric", (j,)) for j in range(width)]
    brute = Brute(model, features, table if with_data else None)
    declared = {f.name: "numeric" for f in features} if kind == "cut" and not with_data else None
    return Case(rng, brute, Explainer(model, table if with_data else None, declared), table, with_data)


CASES = {"forest": forest_case, "tie": tie_case, "bayes": bayes_case}


def random_row(case: Case) -> tuple[float, ...]:
    """A legal row: of the table, a mixture, or on the very edge of a rule."""
    x = list(case.brute.point(case.table[case.rng.integers(len(case.table))]))
    for j, feature in enumerate(case.features):
        if case.chance(0.4):
            x[j] = case.brute.point(case.table[case.rng.integers(len(case.table))])[j]
        edges = finite_edges(case, j)
        if edges and case.chance(0.4):
            edge = float(case.rng.choice(edges))
            x[j] = float(case.rng.choice([edge, np.nextafter(edge, math.inf), edge + case.rng.normal()]))
        if feature.categories and case.chance(0.3):
            x[j] = float(case.rng.choice(feature.categories))
        if math.isnan(x[j]) and feature.columns[0] not in case.brute.missing:
            x[j] = feature.categories[0] if feature.categories else 0.0
        if feature.kind == "integer" and not math.isnan(x[j]):
            x[j] = float(round(x[j]))
        if not math.isnan(x[j]):
            x[j] = min(max(x[j], feature.lower), feature.upper)
            if feature.values is not None:
                x[j] = min(feature.values, key=lambda value: abs(value - x[j]))
    return tuple(x)


def finite_edges(case: Case, j: int) -> list[float]:
    """Where feature j is cut (scikit-learn parts off the missing with a threshold of infinity)."""
    return [rule.edge for rule in case.brute.rules[j] if math.isfinite(rule.edge)]


def random_condition(case: Case, x: Sequence[float]) -> Condition:
    """One wish about one feature, in words and as what it leaves."""
    rng = case.rng
    j = int(rng.integers(len(case.features)))
    feature = case.features[j]
    name = feature.name
    if feature.kind not in NUMBERS:
        if case.chance(0.3):
            return Condition(name, f"{name} unchanged", wish="unchanged")
        return _category_condition(case, feature)
    if case.chance(0.35):
        wish = str(rng.choice(["unchanged", "increases", "decreases"]))
        return Condition(name, f"{name} {wish}", wish=wish)
    low, high = sorted(_interesting_number(case, j, x[j]) for _ in range(2))
    above, below = float(np.nextafter(low, math.inf)), float(np.nextafter(low, -math.inf))
    match rng.integers(8):
        case 0:
            return Condition(name, f"{name} > {low!r}", lower=above)
        case 1:
            return Condition(name, f"{name} >= {low!r}", lower=low)
        case 2:
            return Condition(name, f"{name} < {low!r}", upper=below)
        case 3:
            return Condition(name, f"{low!r} >= {name}", upper=low)
        case 4:
            return Condition(name, f"{low!r} < {name} <= {high!r}", lower=above, upper=high)
        case 5:
            return Condition(name, f"{low!r} <= {name} < {high!r}", low, float(np.nextafter(high, -math.inf)))
        case 6:
            return Condition(name, f"{name} in ({low!r}, {high!r})", values=frozenset((low, high)))
    return Condition(name, f"{name} == {low!r}", values=frozenset((low,)))


def unmeetable(case: Case, condition: Condition) -> bool:
    """Whether no value of the feature, whatever its declared bounds, obeys the condition: an error."""
    feature = next(f for f in case.features if f.name == condition.feature)
    if condition.wish:
        return False
    if feature.kind not in NUMBERS:
        gone = condition.missing and feature.columns[0] in case.brute.missing
        return not (condition.values or gone)
    if condition.values is not None:
        return feature.kind == "integer" and not any(v == math.floor(v) for v in condition.values)
    lower, upper = condition.lower, condition.upper
    if feature.kind == "integer":
        lower = math.ceil(lower) if math.isfinite(lower) else lower
        upper = math.floor(upper) if math.isfinite(upper) else upper
    return lower > upper


def _interesting_number(case: Case, j: int, value: float) -> float:
    edges = finite_edges(case, j)
    if edges and case.chance(0.5):
        edge = float(case.rng.choice(edges))
        number = float(case.rng.choice([edge, np.nextafter(edge, math.inf), edge + case.rng.normal() * 0.1]))
    else:
        number = float(case.rng.choice([0.0 if math.isnan(value) else value, case.rng.normal(), 1e3]))
    if case.features[j].kind == "integer" and case.chance(0.7):
        number = float(round(number))
    return number


def _category_condition(case: Case, feature: Feature) -> Condition:
    def word(value: float) -> str:
        return f"'x{feature.columns[int(value)] + 1}'" if feature.kind == "one-hot" else repr(value)

    name, every = feature.name, feature.categories
    one, other = (float(value) for value in case.rng.choice(every, 2))
    match case.rng.integers(3):
        case 0:
            return Condition(name, f"{name} == {word(one)}", values=frozenset((one,)))
        case 1:
            rest = frozenset(every) - {one}
            return Condition(name, f"{name} != {word(one)}", values=rest, missing=True)
    return Condition(name, f"{name} in ({word(one)}, {word(other)})", values=frozenset((one, other)))


# -- what must hold --------------------------------------------------------------------------------


def check_counterfactual(case: Case, x: tuple[float, ...]) -> None:
    """One random question, answered by the package and by the brute force."""
    rng, brute = case.rng, case.brute
    classes = list(brute.model.classes_)
    decision = int(brute.decide(brute.rows(np.array([x])))[0][0])
    target = int(rng.choice([k for k in range(len(classes)) if k != decision])) if case.chance(0.5) else None
    conditions = [random_condition(case, x) for _ in range(rng.choice([0, 0, 1, 2]))]
    distance = str(rng.choice(DISTANCES if case.with_data else ("hamming", "l0")))
    weights = random_weights(case) if case.chance(0.2) else {}
    question = {
        "target": None if target is None else classes[target],
        "where": " and ".join(c.text for c in conditions) or None,
        "distance": distance,
        "weights": weights or None,
        "solver": str(rng.choice(["ilp", "oracle", "auto"])),
    }
    encoding = str(rng.choice(["tight", "paper"]))
    if question["solver"] == "ilp":
        question["encoding"] = encoding
    if any(unmeetable(case, condition) for condition in conditions):
        with pytest.raises(ConditionError):
            case.explainer.counterfactual(brute.rows(np.array([x]))[0], **question)
        return
    truth = brute.cheapest(x, target, conditions, distance, weights)
    answer = case.explainer.counterfactual(brute.rows(np.array([x]))[0], **question)
    said = f"x={x} {question}\ntruth={truth}\nanswer={answer!r}"

    assert answer.decision == classes[decision], said
    if truth is None:
        assert answer.status == "infeasible", said
        assert answer.point is None, said
        return
    assert answer.status == "optimal", said
    assert answer.cost == pytest.approx(truth.cost, rel=COST, abs=1e-15), said
    assert answer.bound <= answer.cost * (1 + COST), said
    row = np.array([[answer.point[column] for column in case.explainer.columns]], dtype=float)
    won = int(brute.decide(row)[1][0])
    assert won not in (-1, decision), said
    assert won == (won if target is None else target), said
    assert answer.target == classes[won], said
    point = brute.point(row[0])
    moved = [f.name for f, a, b in zip(case.features, x, point, strict=True) if not same(a, b)]
    assert [change.feature for change in answer.changes] == moved, said
    assert len(moved) in truth.changed, said
    paid = price_of_cells(case, x, point, conditions, distance, weights, said)
    assert answer.cost == pytest.approx(paid, rel=COST, abs=1e-15), (paid, said)
    check_region(case, answer.region, x, point, conditions, said)


def price_of_cells(
    case: Case,
    x: Sequence[float],
    point: Sequence[float],
    conditions: Sequence[Condition],
    distance: str,
    weights: Mapping[str, float],
    said: str,
) -> float:
    """What the point's cells cost; its values are legal, and lie as near as rounding lets them be shown."""
    brute, total = case.brute, 0.0
    for j, feature in enumerate(case.features):
        assert legal(brute, feature, point[j], x[j], conditions), (feature, said)
        nearest = brute.nearest(feature, brute.cell(j, point[j]), x[j], conditions, feature.changes)
        if not same(nearest, point[j]) and not math.isnan(x[j]):  # from missing every number is as near
            assert abs(nearest - point[j]) <= SHOWN * (1e-9 + abs(nearest) + abs(nearest - x[j])), (
                feature,
                said,
            )
        total += weights.get(feature.name, 1.0) * brute.price(j, x[j], nearest, distance)
    return total


def legal(
    brute: Brute, feature: Feature, value: float, before: float, conditions: Sequence[Condition]
) -> bool:
    """Whether a value may be shown: in the feature's range and obeying every condition."""
    place = brute.nearest(feature, Cell(value, value), before, conditions, feature.changes)
    return place is not None and same(place, value)


def check_region(
    case: Case,
    region: Mapping[str, Any],
    x: Sequence[float],
    point: Sequence[float],
    conditions: Sequence[Condition],
    said: str,
) -> None:
    """The region holds the point, obeys the conditions, and is decided like the point everywhere."""
    brute = case.brute
    samples = np.tile(np.array(point), (60, 1))
    for j, feature in enumerate(case.features):
        part = region[feature.name]
        drawn = [_from_region(case, feature, part) for _ in samples]
        samples[:, j] = drawn
        for value in {point[j], *drawn}:
            word = f"x{feature.columns[int(value)] + 1}" if feature.kind == "one-hot" else value
            assert (None if math.isnan(value) else word) in part, (feature, value, said)
            assert legal(brute, feature, value, x[j], conditions), (feature, value, said)
    decided, won = brute.decide(brute.rows(np.vstack([point, samples])))
    assert (decided == decided[0]).all(), said
    assert (won == won[0]).all(), said


def _from_region(case: Case, feature: Feature, part: Any) -> float:
    if hasattr(part, "values"):
        value = part.values[case.rng.integers(len(part.values))]
        if feature.kind == "one-hot":
            return float([f"x{c + 1}" for c in feature.columns].index(value))
        return math.nan if value is None else float(value)
    low = part.lower if math.isfinite(part.lower) else min(part.upper, 0.0) - 1e4
    high = part.upper if math.isfinite(part.upper) else max(part.lower, 0.0) + 1e4
    value = float(case.rng.choice([low, high, case.rng.uniform(low, high)]))
    if feature.kind == "integer":
        value = float(min(max(round(value), math.ceil(low)), math.floor(high)))
    return min(max(value, low), high)


def check_prime_implicants(case: Case, x: tuple[float, ...]) -> None:
    """The three methods and ``suffices``, against every set of features."""
    brute, ask = case.brute, case.explainer.prime_implicant
    row = brute.rows(np.array([x]))[0]
    weights = random_weights(case) if case.chance(0.4) else {}
    conditions = _obeyed_conditions(case, x)
    pinned = {c.feature for c in conditions if c.wish == "unchanged"}
    where = " and ".join(c.text for c in conditions) or None

    least = ask(row, where=where, method="minimum", weights=weights or None)
    said = f"x={x} where={where} weights={weights}\n"
    assert least.status == "optimal", said + repr(least)
    assert least.sufficient, said + repr(least)
    assert set(least.features) >= pinned, said + repr(least)
    assert brute.suffices(x, least.features, conditions), said + repr(least)
    truth = brute.least_sufficient(x, conditions, weights, pinned)
    assert least.weight == pytest.approx(truth, rel=COST), said + repr(least)
    assert _weight(least.features, weights) == pytest.approx(truth, rel=COST), said + repr(least)

    minimal = ask(row, where=where, method="minimal", weights=weights or None)
    held = set(minimal.features)
    assert minimal.sufficient, said + repr(minimal)
    assert held >= pinned, said + repr(minimal)
    assert brute.suffices(x, held, conditions), said + repr(minimal)
    assert not any(brute.suffices(x, held - {name}, conditions) for name in held - pinned), said + repr(
        minimal
    )

    some = [feature.name for feature in case.features if case.chance(0.5)]
    says = case.explainer.suffices(row, some, where=where)
    assert says.sufficient == brute.suffices(x, some, conditions), f"{said}{some} {says!r}"

    flip = ask(row, method="flip", weights=weights or None)
    said = f"x={x} weights={weights}\n{flip!r}"
    truth = brute.least_unflipped(x, weights)
    assert flip.status == "optimal", said
    assert flip.weight == pytest.approx(truth, rel=COST), (truth, said)
    assert _weight(flip.features, weights) == pytest.approx(truth, rel=COST), (truth, said)
    assert flip.sufficient == brute.suffices(x, flip.features), said


def _weight(names: Sequence[str], weights: Mapping[str, float]) -> float:
    return sum(weights.get(name, 1.0) for name in names)


def _obeyed_conditions(case: Case, x: Sequence[float]) -> list[Condition]:
    """At most two conditions that the factual itself obeys."""
    drawn = [random_condition(case, x) for _ in range(case.rng.choice([0, 0, 1, 2]))]
    features = {f.name: (f, value) for f, value in zip(case.features, x, strict=True)}
    return [c for c in drawn if legal(case.brute, *features[c.feature], features[c.feature][1], [c])]


def random_weights(case: Case) -> dict[str, float]:
    """Weights for some of the features."""
    names = [feature.name for feature in case.features if case.chance(0.6)]
    return {name: float(case.rng.choice([0.5, 1.0, 2.0, 3.7])) for name in names}


# -- the tests -------------------------------------------------------------------------------------

seeds = pytest.mark.parametrize("seed", range(SWEEP))
models = pytest.mark.parametrize("kind", CASES)


@models
@seeds
def test_the_brute_force_cuts_where_the_model_does(kind: str, seed: int) -> None:
    """Inside a cell nothing changes, ends included: so one value of each is enough to try."""
    case = CASES[kind](seed)
    brute = case.brute
    cells = [list_[case.rng.integers(len(list_))] for list_ in brute.cells]
    ends = [
        [brute.nearest(f, cell, float(np.clip(end, -1e30, 1e30))) for end in (cell.lower, cell.upper, 0.0)]
        for f, cell in zip(case.features, cells, strict=True)
    ]
    corners = np.array([[case.rng.choice(end) for end in ends] for _ in range(20)])
    decided = brute.decide(brute.rows(corners))[0]
    assert (decided == brute.grid[0][brute.home(tuple(corners[0]))]).all()


@models
@seeds
def test_counterfactuals(kind: str, seed: int) -> None:
    """Status, cost, fewest changes, point and region are those of the brute force."""
    case = CASES[kind](seed)
    for _ in range(8):
        check_counterfactual(case, random_row(case))


@models
@seeds
def test_prime_implicants(kind: str, seed: int) -> None:
    """Least, minimal and flipped sets are what trying every set says."""
    case = CASES[kind](seed)
    for _ in range(2):
        check_prime_implicants(case, random_row(case))


@models
@seeds
def test_robustness_is_the_hamming_optimum(kind: str, seed: int) -> None:
    """The fewest rules that have to break, or infinity where nothing flips the decision."""
    case = CASES[kind](seed)
    x = random_row(case)
    truth = case.brute.cheapest(x)
    answer = case.explainer.robustness(case.brute.rows(np.array([x]))[0])
    assert answer.cost == (math.inf if truth is None else truth.cost), f"x={x} {truth} {answer!r}"


@seeds
def test_a_missing_value_where_none_was_seen(seed: int) -> None:
    """A factual may lack a value that the data never lacked: missing is one more cell of that column then."""
    case = forest_case(seed)
    numbers = [f.columns[0] for f in case.features if f.kind in NUMBERS and f.values is None]
    if not numbers:
        return
    lacking = int(case.rng.choice(numbers))
    case.brute = replace(case.brute, missing=case.brute.missing | {lacking})
    if case.brute.size > 4 * GRID:
        return
    for _ in range(2):
        x = zip(case.features, random_row(case), strict=True)
        row = tuple(math.nan if feature.columns[0] == lacking else value for feature, value in x)
        check_counterfactual(case, row)
        check_prime_implicants(case, row)
