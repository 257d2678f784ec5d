"""The truth about small models, by trying everything: plain numpy and the model's own ``predict``.

Written from the definitions alone; nothing of polyflip is imported.  Every feature is cut into cells at
the model's thresholds, one legal value of every cell is put before the model, and every question is then
answered by looking at the whole grid:

* which cells exist (numeric, integer, binary, category, one-hot, missing), and what is decided in each;
* what a change costs, in every distance, from the two values alone;
* the cheapest counterfactual, and the fewest changed features among the cheapest;
* which sets of features suffice, the least of them, and the paper's set (flip as many as possible).
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from sklearn.naive_bayes import BernoulliNB, CategoricalNB

L1 = {"l1-mad": "mad", "l1-std": "std", "l1-range": "range", "gower": "range"}
DISTANCES = ("hamming", "l0", "rules-std", "rules-inverse-std", *L1)
TIE = 1e-9  # costs this close (relative) count as equal

_INF = math.inf
_NUMBERS = ("numeric", "integer")


@dataclass(frozen=True)
class Feature:
    """What a feature may be.  A one-hot group counts its columns: its value k means that column k is 1."""

    name: str
    kind: str
    columns: tuple[int, ...]
    categories: tuple[float, ...] = ()
    lower: float = -_INF
    upper: float = _INF
    values: tuple[float, ...] | None = None
    changes: str = "freely"


@dataclass(frozen=True)
class Cell:
    """All the values that the model cannot tell apart, ends included; or "missing" (NaN on both ends)."""

    lower: float
    upper: float

    @property
    def missing(self) -> bool:
        return math.isnan(self.lower)


@dataclass(frozen=True)
class Rule:
    """``value <= edge``, the edge being the last double that the model sends left.

    Two thresholds may have the same edge; the paper counts thresholds.
    """

    edge: float
    missing_left: bool = False
    threshold: float = 0.0

    def __call__(self, value: float) -> bool:
        return self.missing_left if math.isnan(value) else value <= self.edge


@dataclass(frozen=True)
class Condition:
    """One wish, in words and as the closed interval or the set of values that it leaves."""

    feature: str
    text: str
    lower: float = -_INF
    upper: float = _INF
    values: frozenset[float] | None = None
    wish: str = ""  # unchanged, increases or decreases: relative to the factual
    missing: bool = False  # whether a missing value obeys it


@dataclass(frozen=True)
class Optimum:
    """The cheapest counterfactual: its cost, how many features it must change, and one such point."""

    cost: float
    changed: tuple[int, ...]  # more than one count where the tie-break hangs on rounding
    values: tuple[float, ...]


def same(a: float, b: float) -> bool:
    """Equal, or both missing."""
    return a == b or (math.isnan(a) and math.isnan(b))


def tree_edge(threshold: float) -> float:
    """The greatest double x with float32(x) <= threshold, found by stepping over the rounding boundary."""
    low = np.float32(threshold)
    if float(low) > threshold:
        low = np.nextafter(low, np.float32(-_INF))
    edge = (float(low) + float(np.nextafter(low, np.float32(_INF)))) / 2  # exact: one bit more
    return edge if float(np.float32(edge)) <= threshold else float(np.nextafter(edge, -_INF))


def _trees(model: Any) -> list[Any]:
    return list(model.estimators_) if hasattr(model, "estimators_") else [model]


def _column_rules(model: Any, column: int) -> list[Rule]:
    """The distinct rules on a column (also by where they send the missing)."""
    if isinstance(model, CategoricalNB):
        return []
    if isinstance(model, BernoulliNB):
        return [] if model.binarize is None else [Rule(float(model.binarize))]
    rules = {
        Rule(tree_edge(float(threshold)), bool(left), float(threshold))
        for tree in (estimator.tree_ for estimator in _trees(model))
        for split, threshold, left in zip(tree.feature, tree.threshold, tree.missing_go_to_left, strict=True)
        if split == column
    }
    return sorted(rules, key=lambda rule: (rule.edge, rule.missing_left))


def _spread(kind: str, column: np.ndarray) -> float:
    low, high = np.percentile(column, [25, 75])
    return float(
        {
            "mad": np.median(np.abs(column - np.median(column))),
            "iqr": high - low,
            "std": np.std(column),
            "range": np.max(column) - np.min(column),
        }[kind]
    )


def scale(kind: str, column: np.ndarray) -> float:
    """The yardstick of a column; where it is zero the next of MAD, IQR, std, range, and 1 at last."""
    present = column[~np.isnan(column)]
    order = ("mad", "iqr", "std", "range")
    kinds = order[order.index(kind) :] if present.size else ()
    return next((spread for spread in (_spread(k, present) for k in kinds) if spread > 0), 1.0)


@dataclass
class Brute:
    """Every cell of a small model, and what is decided there.

    ``missing`` names the columns in which a value may be missing.
    """

    model: Any
    features: Sequence[Feature]
    data: np.ndarray | None = None
    vote: str = "model"
    missing: frozenset[int] = frozenset()
    _cache: dict[Any, Any] = field(default_factory=dict, init=False)

    # -- what there is -----------------------------------------------------------------------------

    @cached_property
    def rules(self) -> list[list[Rule]]:
        """Per feature its distinct rules; none for categories, whose changes count as such."""
        return [self._distinct(f.columns[0]) if f.kind in _NUMBERS else [] for f in self.features]

    def _distinct(self, column: int) -> list[Rule]:
        rules = _column_rules(self.model, column)
        if column not in self.missing:  # where the missing would go is no difference then
            rules = sorted({replace(rule, missing_left=False) for rule in rules}, key=lambda r: r.threshold)
        return rules

    @cached_property
    def cells(self) -> list[list[Cell]]:
        """Per feature the cells in which some legal value lies."""
        return [list(self._cells(f, rules)) for f, rules in zip(self.features, self.rules, strict=True)]

    def _cells(self, feature: Feature, rules: list[Rule]) -> Iterable[Cell]:
        if feature.kind in _NUMBERS:
            edges = sorted(
                {rule.edge for rule in rules if rule.edge < _INF}
            )  # inf only parts off the missing
            for low, high in zip([-_INF, *edges], [*edges, _INF], strict=True):
                cell = Cell(float(np.nextafter(low, _INF)) if low > -_INF else low, high)
                if self.nearest(feature, cell, 0.0) is not None:
                    yield cell
        else:
            yield from (Cell(value, value) for value in feature.categories)
        if feature.columns[0] in self.missing:
            yield Cell(math.nan, math.nan)

    def nearest(
        self,
        feature: Feature,
        cell: Cell,
        to: float,
        conditions: Iterable[Condition] = (),
        changes: str = "freely",
    ) -> float | None:
        """The legal value of the cell nearest to the factual one, or None if the conditions leave none."""
        mine = [condition for condition in conditions if condition.feature == feature.name]
        wishes = {condition.wish for condition in mine if condition.wish}
        wishes |= {"never": {"unchanged"}, "up": {"increases"}, "down": {"decreases"}}.get(changes, set())
        if cell.missing:
            open_ = all(c.missing or c.wish for c in mine) and (not wishes or math.isnan(to))
            return math.nan if open_ else None
        if math.isnan(to):
            if wishes:  # from missing there is no way up or down
                return None
            to = 0.0
        lower = max([cell.lower, feature.lower, *(c.lower for c in mine)])
        upper = min([cell.upper, feature.upper, *(c.upper for c in mine)])
        lower = max(lower, to) if wishes & {"unchanged", "increases"} else lower
        upper = min(upper, to) if wishes & {"unchanged", "decreases"} else upper
        if feature.kind == "integer":
            lower = math.ceil(lower) if math.isfinite(lower) else lower
            upper = math.floor(upper) if math.isfinite(upper) else upper
        if lower > upper:
            return None
        middle = min(max(to, lower), upper)
        lists = [set(values) for values in (feature.values, *(c.values for c in mine)) if values is not None]
        if not lists:
            return float(middle)
        inside = [value for value in set.intersection(*lists) if lower <= value <= upper]
        if feature.kind == "integer":
            inside = [value for value in inside if value == math.floor(value)]
        return min(inside, key=lambda value: (abs(value - middle), value), default=None)

    # -- what is decided ---------------------------------------------------------------------------

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Points, one value per feature, as rows of the model's columns."""
        width = 1 + max(column for f in self.features for column in f.columns)
        table = np.zeros((len(values), width))
        for j, feature in enumerate(self.features):
            if feature.kind == "one-hot":
                table[np.arange(len(values)), np.array(feature.columns)[values[:, j].astype(int)]] = 1.0
            else:
                table[:, feature.columns[0]] = values[:, j]
        return table

    def point(self, row: Sequence[float]) -> tuple[float, ...]:
        """A row of the model's columns as one value per feature."""
        return tuple(
            float(np.argmax([row[c] for c in f.columns])) if f.kind == "one-hot" else float(row[f.columns[0]])
            for f in self.features
        )

    def decide(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per row the class decided, and the class that wins (-1: no class has a majority), as indices."""
        classes = self.model.classes_
        if self.vote == "model":
            # one by one where BLAS sums: its rounding, and so a tie, may turn on the number of rows
            batches = np.split(table, len(table)) if isinstance(self.model, BernoulliNB) else [table]
            decided = np.searchsorted(classes, np.concatenate([self.model.predict(rows) for rows in batches]))
            return decided, decided
        if hasattr(self.model, "estimators_"):
            ballots = np.array([tree.predict(table) for tree in self.model.estimators_]).astype(int)
        else:
            ballots = np.searchsorted(classes, self.model.predict(table))[None, :]
        votes = np.array([(ballots == k).sum(axis=0) for k in range(len(classes))])
        decided = votes.argmax(axis=0)
        majority = 2 * votes.max(axis=0) > len(ballots)  # the paper's: more than half of all the trees
        return decided, np.where(majority, decided, -1)

    @property
    def size(self) -> int:
        """How many cells the grid has."""
        return math.prod(len(cells) for cells in self.cells)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """``decide`` on a value of every cell, one axis per feature."""
        some = [
            [self.nearest(f, cell, 0.0) for cell in cells]
            for f, cells in zip(self.features, self.cells, strict=True)
        ]
        points = np.array(list(itertools.product(*some)), dtype=float).reshape(-1, len(self.features))
        shape = [len(cells) for cells in self.cells]
        decided, won = self.decide(self.rows(points))
        return decided.reshape(shape), won.reshape(shape)

    def cell(self, j: int, value: float) -> Cell:
        """The cell of feature j in which a value lies."""
        return next(
            cell
            for cell in self.cells[j]
            if (cell.missing and math.isnan(value)) or cell.lower <= value <= cell.upper
        )

    def home(self, x: Sequence[float]) -> tuple[int, ...]:
        """The cells in which a point lies, as an index into the grid."""
        return tuple(cells.index(self.cell(j, x[j])) for j, cells in enumerate(self.cells))

    # -- what it costs -----------------------------------------------------------------------------

    def price(self, j: int, before: float, after: float, distance: str) -> float:
        """What it costs to move feature j from one value to another."""
        if same(before, after):
            return 0.0
        feature = self.features[j]
        if distance == "l0":
            return 1.0
        if distance in L1:
            share = len(self.features) if distance == "gower" else 1
            return self._moved(feature, before, after, L1[distance]) / share
        if feature.kind in _NUMBERS:
            broken = [rule for rule in self.rules[j] if rule(before) != rule(after)]
            return sum(self._weight(feature, rule, distance) for rule in broken)
        if distance == "hamming":
            return 1.0
        return sum(self._weight(feature, category, distance) for category in (before, after)) / 2

    def _moved(self, feature: Feature, before: float, after: float, kind: str) -> float:
        if feature.kind in _NUMBERS:
            column = self._column(feature)
            unit = self._remember((feature.name, kind), lambda: scale(kind, column))
            if math.isnan(before) or math.isnan(after):
                return self._remember((feature.name, "range"), lambda: scale("range", column)) / unit
            return abs(after - before) / unit
        if kind == "range":
            return 1.0
        shares = [self._share(feature, category) for category in (*feature.categories, math.nan)]
        variance = sum(p * (1 - p) for p in shares) / 2
        return 1 / math.sqrt(variance) if variance > 0 else 1.0

    def _weight(self, feature: Feature, holds: Rule | float, distance: str) -> float:
        """The weight of one rule, or of the indicator of one category."""
        if distance == "hamming":
            return 1.0
        p = self._remember((feature.name, holds), lambda: self._share(feature, holds))
        deviation = math.sqrt(p * (1 - p))
        if distance == "rules-std":
            return deviation
        return 1 / deviation if deviation > 0 else 1.0

    def _share(self, feature: Feature, holds: Rule | float) -> float:
        column = self._column(feature)
        if isinstance(holds, Rule):
            return float(np.mean([holds(value) for value in column]))
        return float(np.mean([same(value, holds) for value in column]))

    def _column(self, feature: Feature) -> np.ndarray:
        if self.data is None:
            raise ValueError("this distance needs data")
        if feature.kind == "one-hot":
            return self.data[:, list(feature.columns)].argmax(axis=1).astype(float)
        return self.data[:, feature.columns[0]]

    def _remember(self, key: Any, compute: Any) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    # -- the questions -----------------------------------------------------------------------------

    def cheapest(
        self,
        x: Sequence[float],
        target: int | None = None,
        conditions: Sequence[Condition] = (),
        distance: str = "hamming",
        weights: Mapping[str, float] | None = None,
    ) -> Optimum | None:
        """The least change that makes the target (or any other class) win, over the whole grid."""
        decision = int(self.decide(self.rows(np.array([x])))[0][0])
        _, won = self.grid
        costs, moves, values = [], [], []
        for j, (feature, cells) in enumerate(zip(self.features, self.cells, strict=True)):
            places = [self.nearest(feature, cell, x[j], conditions, feature.changes) for cell in cells]
            weight = (weights or {}).get(feature.name, 1.0)
            costs.append(
                np.array([_INF if v is None else weight * self.price(j, x[j], v, distance) for v in places])
            )
            moves.append(np.array([0 if v is None or same(v, x[j]) else 1 for v in places]))
            values.append(places)
        flips = (won == target) if target is not None else (won >= 0) & (won != decision)
        total = np.where(flips, reduce(np.add.outer, costs), _INF)
        least = float(total.min())
        if math.isinf(least):
            return None
        moved = reduce(np.add.outer, moves)
        counts = [int(moved[total <= least * (1 + tie)].min()) for tie in (TIE / 10, TIE, TIE * 10)]
        best = np.unravel_index(int(np.argmin(np.where(total <= least * (1 + TIE), moved, 99))), total.shape)
        return Optimum(
            least, tuple(sorted(set(counts))), tuple(v[i] for v, i in zip(values, best, strict=True))
        )

    def _box(self, x: Sequence[float], held: Iterable[str], conditions: Sequence[Condition]) -> Any:
        """The decisions over all that the features not held may be."""
        home = self.home(x)
        index = []
        for j, (feature, cells) in enumerate(zip(self.features, self.cells, strict=True)):
            free = [i for i, c in enumerate(cells) if self.nearest(feature, c, x[j], conditions) is not None]
            index.append([home[j]] if feature.name in held else free)
        return self.grid[0][np.ix_(*index)]

    def suffices(self, x: Sequence[float], held: Iterable[str], conditions: Sequence[Condition] = ()) -> bool:
        """Whether all of the box in which only the held features stand still is decided like the factual."""
        decision = self.grid[0][self.home(x)]
        return bool((self._box(x, set(held), conditions) == decision).all())

    def least_sufficient(
        self,
        x: Sequence[float],
        conditions: Sequence[Condition] = (),
        weights: Mapping[str, float] | None = None,
        pinned: Iterable[str] = (),
    ) -> float:
        """The least weight of a sufficient set that holds the pinned features."""
        names = [f.name for f in self.features]
        sets = (set(s) for size in range(len(names) + 1) for s in itertools.combinations(names, size))
        return min(
            sum((weights or {}).get(name, 1.0) for name in held)
            for held in sets
            if held >= set(pinned) and self.suffices(x, held, conditions)
        )

    def least_unflipped(self, x: Sequence[float], weights: Mapping[str, float] | None = None) -> float:
        """The least weight left unchanged when as much as possible changes and the decision stands."""
        home = self.home(x)
        stays = []
        for j, (feature, cells) in enumerate(zip(self.features, self.cells, strict=True)):
            weight = (weights or {}).get(feature.name, 1.0) if len(cells) > 1 else 0.0
            stays.append(np.array([weight if i == home[j] else 0.0 for i in range(len(cells))]))
        return float(reduce(np.add.outer, stays)[self.grid[0] == self.grid[0][home]].min())
