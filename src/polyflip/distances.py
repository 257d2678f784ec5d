"""Distances: every one of them becomes a cost per feature and cell.

Over rules (the paper): ``hamming``, ``rules-std``, ``rules-inverse-std``, ``rules-mad``: the sum of
the weights of the rules that differ.  Over features: ``l0``, ``l1-mad``, ``l1-std``, ``l1-range``,
``gower``: how far the value moves.  Sums of them, and a weight per feature on any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from polyflip.core import Cost, Domain, Ensemble, Point, Space
from polyflip.core.space import Bools, Floats
from polyflip.errors import InputError
from polyflip.features import Feature

__all__ = ["DISTANCES", "Distance", "Pricer", "spread"]

Distance = str | Mapping[str, float]

DISTANCES = {
    "hamming": "the number of the model's rules that change",
    "rules-std": "rules weighted by their standard deviation",
    "rules-inverse-std": "rules weighted by the inverse of their standard deviation",
    "rules-mad": "rules weighted by the inverse of the median absolute deviation where they hold",
    "l0": "the number of features that change",
    "l1-mad": "the way moved, in median absolute deviations",
    "l1-std": "the way moved, in standard deviations",
    "l1-range": "the way moved, as a share of the range",
    "gower": "the mean over features of the way moved as a share of the range",
}
NEED_NO_DATA = ("hamming", "l0")
FALLBACKS = {
    "mad": ("mad", "iqr", "std", "range"),
    "std": ("std", "range"),
    "range": ("range",),
}
WORDS = {
    "mad": "median absolute deviation",
    "iqr": "interquartile range",
    "std": "standard deviation",
    "range": "range",
    "one": "1",
}


def spread(values: Floats, measure: str) -> tuple[float, str]:
    """A scale of the values; where it is zero the next of MAD, IQR, std, range, and at last 1.

    >>> spread(np.array([0.0, 0.0, 0.0, 1.0]), "mad")[1]
    'iqr'
    """
    present = values[np.isfinite(values)]
    for name in FALLBACKS[measure]:
        if not len(present):
            break
        scale = {
            "mad": lambda: float(np.median(np.abs(present - np.median(present)))),
            "iqr": lambda: float(np.subtract(*np.percentile(present, [75, 25]))),
            "std": lambda: float(np.std(present)),
            "range": lambda: float(np.ptp(present)),
        }[name]()
        if scale > 1e-12 * max(1.0, float(np.abs(present).max())):
            return scale, name
    return 1.0, "one"


class Pricer:
    """Prices the cells of a space for any factual; scales and rule weights are computed once."""

    def __init__(
        self, space: Space, ensemble: Ensemble, features: Sequence[Feature], sample: Sequence[Floats] | None
    ) -> None:
        self.space = space
        self.ensemble = ensemble
        self.features = features
        self.sample = sample
        self._scales: dict[str, tuple[list[float], list[str]]] = {}
        self._rule_weights: dict[str, tuple[Floats, list[str]]] = {}
        self._label_weights: dict[tuple[str, int], Floats] = {}

    def cost(
        self, point: Point, domain: Domain, distance: Distance, weights: Mapping[str, float] | None = None
    ) -> Cost:
        """The cost of every cell, seen from a point; the values a domain clips are priced as clipped."""
        parts = self._parts(distance)
        factors = self.weights(weights)
        ways = [self._way(point, domain, j) for j in range(len(self.features))]
        changed = tuple(self._changed(point, j, way) for j, way in enumerate(ways))
        prices = []
        for j in range(len(self.features)):
            own = sum(
                share * self._price(name, point, j, ways[j], changed[j]) for name, share in parts.items()
            )
            prices.append(np.where(domain.allowed[j], factors[j] * own, 0.0))
        moves = tuple(
            self._move(j, way, moved) for j, (way, moved) in enumerate(zip(ways, changed, strict=True))
        )
        return Cost(tuple(prices), changed, moves, tuple(self._notes(parts)))

    def weights(self, given: Mapping[str, float] | None) -> Floats:
        """A weight per feature: the declared one times the one given for this question."""
        names = [feature.name for feature in self.features]
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"weights={given!r}: give a mapping of features to numbers")
        factors = np.array([feature.weight for feature in self.features], dtype=np.float64)
        for name, weight in (given or {}).items():
            if name not in names:
                raise InputError(f"weights: {name!r} is no feature; the features are {names}")
            if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)):
                raise InputError(f"weights: the weight of {name!r} is {weight!r}; give a number >= 0")
            if not 0 <= weight < np.inf:
                raise InputError(f"weights: the weight of {name!r} is {weight}; give a finite number >= 0")
            factors[names.index(name)] *= weight
        return factors

    def _parts(self, distance: Distance) -> dict[str, float]:
        if not isinstance(distance, (str, Mapping)):
            raise InputError(f"distance={distance!r}: give a name, or a mapping of names to shares")
        parts = {distance: 1.0} if isinstance(distance, str) else dict(distance)
        for name, share in parts.items():
            if name not in DISTANCES:
                raise InputError(f"distance={name!r} is not known; choose from {', '.join(DISTANCES)}")
            if not isinstance(share, (int, float)) or not 0 <= share < np.inf:
                raise InputError(f"distance: the share of {name!r} is {share!r}; give a finite number >= 0")
            if self.sample is None and name not in NEED_NO_DATA:
                raise InputError(
                    f"distance={name!r} needs the training data: Explainer(model, data); "
                    f"{' and '.join(NEED_NO_DATA)} do without"
                )
        if not parts:
            raise InputError("distance: an empty sum of distances; name at least one")
        return parts

    def _way(self, point: Point, domain: Domain, j: int) -> Floats:
        """How far a number moves to reach each cell; infinite to or from the missing cell."""
        if self.features[j].discrete:
            return np.where(np.arange(self.space.axes[j].size) == point.cells[j], 0.0, 1.0)
        value = float(point.values[j])
        size = self.space.axes[j].size
        if np.isnan(value):
            return np.where(np.arange(size) == point.cells[j], 0.0, np.inf)
        way = np.zeros(size)
        for cell in np.flatnonzero(domain.allowed[j]):
            near = domain.nearest(j, int(cell), value)
            way[cell] = np.inf if np.isnan(near) else abs(near - value)
        return way

    def _changed(self, point: Point, j: int, way: Floats) -> Bools:
        """In which cells the feature counts as changed: the factual's own value may not be shown."""
        own = np.arange(len(way)) == point.cells[j]
        return np.asarray(~own | (way > 0))

    def _move(self, j: int, way: Floats, changed: Bools) -> Floats:
        """How far a feature moves as a share of its range, at most 1, for the order among equals."""
        if self.features[j].discrete:
            return way
        edges = self.space.axes[j].upper
        known = edges[np.isfinite(edges)]
        if self.sample is not None:
            known = np.append(known, self.sample[j][np.isfinite(self.sample[j])])
        span = float(np.ptp(known)) if len(known) else 0.0
        return np.minimum(way / (span if span > 0 else 1.0), 1.0) * changed

    def _price(self, name: str, point: Point, j: int, way: Floats, changed: Bools) -> Floats:
        if name == "l0":
            return changed.astype(np.float64)
        if name == "hamming" or name.startswith("rules-"):
            return self._rules_differ(name, point, j)
        measure = "range" if name == "gower" else name.removeprefix("l1-")
        scale = self._scale(measure)[0][j]
        share = 1.0 / len(self.features) if name == "gower" else 1.0
        finite = np.where(np.isfinite(way), way, self._span(j))
        price: Floats = share * finite / scale
        return price

    def _span(self, j: int) -> float:
        """What going missing costs, in units of the feature: all of its range."""
        assert self.sample is not None
        return spread(self.sample[j], "range")[0]

    def _scale(self, measure: str) -> tuple[list[float], list[str]]:
        if measure not in self._scales:
            assert self.sample is not None
            found = [self._spread(j, measure) for j in range(len(self.features))]
            notes = [
                f"{self.features[j].name}: its {WORDS[measure]} is zero, so its {WORDS[used]} is used"
                if used != "one"
                else f"{self.features[j].name}: it does not vary in the data, so its scale is 1"
                for j, (_, used) in enumerate(found)
                if used != measure and not self.features[j].discrete
            ]
            self._scales[measure] = ([scale for scale, _ in found], notes)
        return self._scales[measure]

    def _spread(self, j: int, measure: str) -> tuple[float, str]:
        """The scale of a feature; a change of category counts as a change of its 0/1 column would."""
        assert self.sample is not None
        if not self.features[j].discrete or measure == "range":
            return (1.0, measure) if self.features[j].discrete else spread(self.sample[j], measure)
        shares = self._shares(j)
        deviation = float(np.sqrt(np.sum(shares * (1 - shares)) / 2))
        return (deviation, "std") if deviation > 0 else (1.0, "one")

    def _shares(self, j: int) -> Floats:
        """The share of the data in each category."""
        assert self.sample is not None
        axis = self.space.axes[j]
        cells = axis.cells_of(self.sample[j])
        counts = np.bincount(cells[cells >= 0], minlength=axis.size).astype(np.float64)
        shares: Floats = counts / max(1.0, counts.sum())
        return shares

    def _rules_differ(self, name: str, point: Point, j: int) -> Floats:
        """The sum of the weights of the rules that differ between the point's cell and each cell.

        A change of category flips two indicators, ``1[x = old]`` and ``1[x = new]``, and counts once:
        half of the sum of their weights.
        """
        axis, here = self.space.axes[j], int(point.cells[j])
        if self.features[j].discrete:
            weights = self._labels(name, j)
            price: Floats = (weights + weights[here]) / 2
            price[here] = 0.0
            return price
        weights = self._rules(name)[0]
        rules = self.ensemble.rules
        price = np.zeros(axis.size)
        for rule in self._rules_of[j]:
            runs = rules.runs(rule)
            holds = any(low <= here < high for low, high in runs)
            price += weights[rule] * holds
            for low, high in runs:
                price[low:high] += -weights[rule] if holds else weights[rule]
        return np.maximum(price, 0.0)

    @cached_property
    def _rules_of(self) -> list[list[int]]:
        feature = self.ensemble.rules.feature
        return [np.flatnonzero(feature == j).tolist() for j in range(len(self.features))]

    def _rules(self, name: str) -> tuple[Floats, list[str]]:
        """The weight of every rule, computed once."""
        if name not in self._rule_weights:
            weights, notes = np.ones(self.ensemble.rules.count), []
            for j, feature in enumerate(self.features):
                if name != "hamming" and not feature.discrete:
                    notes += self._weigh_rules(name, j, weights)
            self._rule_weights[name] = (weights, notes)
        return self._rule_weights[name]

    def _weigh_rules(self, name: str, j: int, weights: Floats) -> list[str]:
        """Weigh the rules of a number by the rows of the data on which they hold."""
        assert self.sample is not None
        rules, axis = self.ensemble.rules, self.space.axes[j]
        cells = axis.cells_of(self.sample[j])
        order = np.argsort(cells, kind="stable")[np.count_nonzero(cells < 0) :]
        values = self.sample[j][order]
        before = np.searchsorted(cells[order], np.arange(axis.size + 1))  # rows in cells below each cell
        notes = []
        for rule in self._rules_of[j]:
            spans = [(int(before[low]), int(before[high])) for low, high in rules.runs(rule)]
            share = sum(stop - start for start, stop in spans) / max(1, len(values))
            if name == "rules-mad":
                scale, used = spread(np.concatenate([values[start:stop] for start, stop in spans]), "mad")
                weights[rule] = 1.0 / scale
                note = f"its {WORDS['mad']} is zero, so {WORDS[used]} is used" if used != "mad" else ""
            else:
                weights[rule] = _indicator_weight(name, share)
                constant = name == "rules-inverse-std" and share in (0.0, 1.0)
                note = "it does not vary in the data, so its weight is 1" if constant else ""
            notes += [f"{rules.names[rule]}: {note}"] if note else []
        return notes

    def _labels(self, name: str, j: int) -> Floats:
        """The weight of the indicator of each category."""
        if name == "hamming":
            return np.ones(self.space.axes[j].size)
        if (name, j) not in self._label_weights:
            shares = self._shares(j)
            self._label_weights[name, j] = np.array([_indicator_weight(name, share) for share in shares])
        return self._label_weights[name, j]

    def _notes(self, parts: Mapping[str, float]) -> list[str]:
        notes: list[str] = []
        for name in parts:
            if name.startswith("rules-"):
                notes += self._rules(name)[1]
            elif name not in NEED_NO_DATA:
                notes += self._scale("range" if name == "gower" else name.removeprefix("l1-"))[1]
        return notes


def _indicator_weight(name: str, share: float) -> float:
    """The weight of an indicator that is 1 in a share of the data."""
    deviation = float(np.sqrt(share * (1 - share)))
    if name == "rules-std":
        return deviation
    return 1.0 / deviation if deviation > 0 else 1.0
