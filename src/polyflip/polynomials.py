"""Decision polynomials: which rules, held together, decide for a class (the paper's definition 1).

A polynomial is a sum of monomials with coefficient 1 and no constant; it is 1 where the model
decides for its class and 0 elsewhere.  Terms that differ in one factor merge (section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from polyflip.core import Ensemble, Rules, Space
from polyflip.errors import InputError, TooLargeError
from polyflip.features import Feature, Features, declare
from polyflip.frames import plain
from polyflip.readers import Reading, fold, read_model

__all__ = ["DecisionPolynomial", "Factor", "Variable", "decision_polynomial"]

MOST_POINTS = 2**20


@dataclass(frozen=True)
class Variable:
    """What an indicator is about: a rule ``column <= threshold``, or a feature with its values.

    ``values`` are what it can be: ``(True, False)`` for a rule, the categories for a feature.
    ``missing`` says whether a rule holds at a missing value; None where the model takes none.
    """

    name: str
    values: tuple[object, ...]
    column: str = ""
    threshold: float | None = None
    missing: bool | None = None

    def at(self, point: Mapping[str, object]) -> object:
        """The variable's value at a point given by its columns."""
        if self.column not in point:
            raise InputError(f"the point has no value for {self.column!r}")
        value = plain(point[self.column])
        if value is None:
            if self.missing is None:
                raise InputError(f"{self.column!r} is missing, which the model does not take")
            return self.missing
        if self.threshold is None:
            if value not in self.values:
                raise InputError(f"{self.column!r} is {value!r}; it can be {list(self.values)}")
            return value
        if not isinstance(value, (int, float)):
            raise InputError(f"{self.column!r} is {value!r}; a number is needed")
        return float(np.float32(value)) <= self.threshold


@dataclass(frozen=True)
class Factor:
    """An indicator: a variable has one of ``allowed`` values."""

    variable: Variable
    allowed: frozenset[object]

    def __str__(self) -> str:
        """The factor as the paper prints it."""
        variable = self.variable
        if variable.threshold is not None:
            rule = f"1[{variable.name}]"
            return rule if True in self.allowed else f"(1 - {rule})"
        if set(variable.values) == {0, 1}:
            return variable.name if 1 in self.allowed else f"(1 - {variable.name})"
        names = [str(value) for value in variable.values if value in self.allowed]
        return (
            f"1[{variable.name} = {names[0]}]"
            if len(names) == 1
            else f"1[{variable.name} in {{{', '.join(names)}}}]"
        )


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class DecisionPolynomial:
    """A sum of monomials that is 1 exactly where the model decides for ``of``.

    >>> p = decision_polynomial(lambda x: x["a"] and x["b"], of=1, features=["a", "b"])
    >>> print(p)
    a·b
    >>> p(dict(a=1, b=0))
    0
    """

    of: object
    terms: tuple[Term, ...]

    def __len__(self) -> int:
        """The number of terms."""
        return len(self.terms)

    def __call__(self, point: Mapping[str, object]) -> int:
        """The polynomial's value at a point given by its columns."""
        return sum(all(f.variable.at(point) in f.allowed for f in term) for term in self.terms)

    def __str__(self) -> str:
        """The polynomial as the paper prints it; the empty sum is 0, the empty product 1."""
        if not self.terms:
            return "0"
        return " + ".join("·".join(map(str, term)) or "1" for term in self.terms)

    def reduced(self) -> DecisionPolynomial:
        """Merge terms that differ in one factor only, until none do (section 4.3)."""
        return DecisionPolynomial(self.of, _reduced(self.terms))

    def to_dict(self) -> dict[str, object]:
        """Plain values: per term the values that each variable may have."""
        return {
            "of": plain(self.of),
            "terms": [
                {f.variable.name: [v for v in f.variable.values if v in f.allowed] for f in term}
                for term in self.terms
            ],
        }


def decision_polynomial(
    model: Any,
    of: object,
    features: Features | Sequence[str] | None = None,
    tree: int | None = None,
    reduce: bool = True,
) -> DecisionPolynomial:
    """The decision polynomial of a class.

    ``model`` is a decision tree, a forest (name the ``tree``), naive Bayes, or any function of binary
    features (name them in ``features``; it is called with a mapping and returns the class).  The
    number of combinations of a naive Bayes or a function is bounded.

    A rule that holds at a missing value as well is printed ``1[income <= 2499.6 or missing]``.
    scikit-learn's trees send missing somewhere at every node, also where none was seen in training
    (then to the larger side).

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(random_state=0).fit([[1], [2], [3]], ["no", "yes", "yes"])
    >>> print(decision_polynomial(tree, of="yes"))
    (1 - 1[x1 <= 1.5])
    """
    if callable(model) and not hasattr(model, "predict"):
        return _of_function(model, of, features, reduce)
    reading = read_model(model, vote="majority" if tree is not None else "model")
    if isinstance(of, (np.ndarray, list)) or plain(of) not in reading.classes:
        raise InputError(f"of={of!r} is no class of the model; the classes are {list(reading.classes)}")
    wanted = reading.classes.index(plain(of))
    if reading.known or reading.kind == "BernoulliNB":
        if tree is not None:
            raise InputError(f"tree={tree}: {reading.kind} has no trees")
        terms = _of_features(reading, wanted)
    else:
        terms = _of_tree(reading, wanted, features, tree)
    polynomial = DecisionPolynomial(of, tuple(terms))
    return polynomial.reduced() if reduce else polynomial


def _of_tree(reading: Reading, wanted: int, features: Any, tree: int | None) -> list[Term]:
    count = len(reading.trees.trees)
    if tree is None and count > 1:
        raise InputError(
            f"this {reading.kind} has {count} trees, each with its own polynomial: "
            f"name one, tree=0 to {count - 1}"
        )
    chosen = 0 if tree is None else tree
    if not isinstance(chosen, int):
        raise InputError(f"tree={tree!r}: give the number of a tree")
    if not 0 <= chosen < count:
        raise InputError(f"tree={tree}: the model has trees 0 to {count - 1}")
    columns = reading.columns
    if features is not None:
        columns = tuple(f.name if isinstance(f, Feature) else str(f) for f in features)
        if len(columns) != len(reading.columns):
            raise InputError(f"features: {len(columns)} names for the model's {len(reading.columns)} columns")
    takes = reading.allows_missing
    numbers = tuple(replace(feature, missing=takes) for feature in declare(columns))
    space, ensemble = fold(reading.trees, columns, numbers, takes)
    return [
        _term(space, ensemble, path)
        for leaf, path in ensemble.paths(chosen)
        if np.argmax(ensemble.values[leaf]) == wanted
    ]


def _term(space: Space, ensemble: Ensemble, path: Iterable[tuple[int, bool]]) -> Term:
    return tuple(Factor(_rule(space, ensemble.rules, rule), frozenset([holds])) for rule, holds in path)


def _rule(space: Space, rules: Rules, rule: int) -> Variable:
    """A rule as a variable: its threshold, and whether it holds at a missing value (the last cell)."""
    assert rules.thresholds is not None
    axis, threshold = space.axes[int(rules.feature[rule])], float(rules.thresholds[rule])
    missing = bool(rules.mask(rule, axis.size)[-1]) if axis.missing else None
    name = f"{axis.name} <= {threshold:.12g}" + " or missing" * bool(missing)
    if not np.isfinite(threshold):  # scikit-learn parts the missing from all numbers by "<= infinity"
        name = f"{axis.name} is not missing"
    return Variable(name, (True, False), axis.name, threshold, missing)


def _of_features(reading: Reading, wanted: int) -> list[Term]:
    """A naive Bayes: one term per combination of categories, by the model's own predict."""
    variables = [
        Variable(column, reading.known[i].labels if i in reading.known else (0, 1), column)
        for i, column in enumerate(reading.columns)
    ]
    _bounded([len(v.values) for v in variables])
    points = np.array(list(product(*(v.values for v in variables))), dtype=np.float64)
    if not reading.known:  # BernoulliNB cuts at its threshold: 0 and 1 stand for the two sides
        edge = float(reading.trees.trees[0].edge[0])
        points = np.where(points == 1, np.nextafter(edge, np.inf), edge)
    decided = reading.decide(points) == wanted
    combinations = product(*(v.values for v in variables))
    return [_product(variables, values) for values, hit in zip(combinations, decided, strict=True) if hit]


def _of_function(
    function: Callable[[Mapping[str, object]], object], of: object, features: Any, reduce: bool
) -> DecisionPolynomial:
    if not features:
        raise InputError("decision_polynomial: name the binary features of the function, features=['a', 'b']")
    names = [f.name if isinstance(f, Feature) else str(f) for f in features]
    _bounded([2] * len(names))
    variables = [Variable(name, (1, 0), name) for name in names]
    terms = [
        _product(variables, values)
        for values in product((1, 0), repeat=len(names))
        if _decides(function, dict(zip(names, values, strict=True)), of)
    ]
    polynomial = DecisionPolynomial(of, tuple(terms))
    return polynomial.reduced() if reduce else polynomial


def _decides(
    function: Callable[[Mapping[str, object]], object], point: dict[str, object], of: object
) -> bool:
    """Whether a user's function returns a class; whatever goes wrong in it is said with its point."""
    try:
        return bool(function(point) == of)
    except Exception as error:
        raise InputError(
            f"decision_polynomial: the function fails at {point}: {type(error).__name__}: {error}"
        ) from error


def _product(variables: Sequence[Variable], values: Sequence[object]) -> Term:
    return tuple(Factor(v, frozenset([value])) for v, value in zip(variables, values, strict=True))


def _bounded(sizes: Sequence[int]) -> None:
    count = int(np.prod(sizes, dtype=object))
    if count > MOST_POINTS:
        raise TooLargeError(
            f"the polynomial would be read off {count:,} combinations of values (at most {MOST_POINTS:,}); "
            "counterfactuals and prime implicants do not need it"
        )


def _reduced(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Merge along one variable after the other until a whole round merges nothing."""
    variables: dict[Variable, None] = {f.variable: None for term in terms for f in term}
    current = [{f.variable: f.allowed for f in term} for term in terms]
    merged = True
    while merged:
        merged = False
        for variable in reversed(variables):
            fewer = _merged(current, variable)
            merged |= len(fewer) < len(current)
            current = fewer
    return tuple(tuple(Factor(v, allowed) for v, allowed in term.items()) for term in current)


def _merged(
    terms: list[dict[Variable, frozenset[object]]], variable: Variable
) -> list[dict[Variable, frozenset[object]]]:
    """Terms alike in all but one variable become one; a variable that may be anything drops out."""
    groups: dict[object, dict[Variable, frozenset[object]]] = {}
    for number, term in enumerate(terms):
        if variable not in term:
            groups[number] = term
            continue
        rest = frozenset((v, allowed) for v, allowed in term.items() if v != variable)
        known = groups.get(rest)
        groups[rest] = term if known is None else known | {variable: known[variable] | term[variable]}
    everything = frozenset(variable.values)
    return [
        {v: allowed for v, allowed in term.items() if v != variable or allowed != everything}
        for term in groups.values()
    ]
