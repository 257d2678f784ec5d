"""Ensemble: a sum of decision trees over cells, whose leaves are monomials with a value vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyflip.core.space import Bools, Floats, Ints, Space

__all__ = ["LEAF", "Ensemble", "Rules", "runs_of"]

LEAF = -1


@dataclass(frozen=True, eq=False)
class Rules:
    """The distinct rules of a model: each holds on a set of cells of one feature.

    The set is a union of runs of cells, ``low <= cell < high``: one run for ``x <= t``, two where
    missing values (the last cell) go left as well or where all categories but one do.
    Runs ``start[r]:start[r + 1]`` belong to rule ``r``.
    """

    feature: Ints
    start: Ints
    low: Ints
    high: Ints
    names: tuple[str, ...] = ()
    thresholds: Floats | None = None

    @property
    def count(self) -> int:
        """The number of rules."""
        return len(self.feature)

    def runs(self, rule: int) -> list[tuple[int, int]]:
        """The runs of cells on which a rule holds."""
        span = slice(int(self.start[rule]), int(self.start[rule + 1]))
        return list(zip(self.low[span].tolist(), self.high[span].tolist(), strict=True))

    def mask(self, rule: int, size: int) -> Bools:
        """The cells of its feature on which a rule holds."""
        held = np.zeros(size, dtype=np.bool_)
        for low, high in self.runs(rule):
            held[low:high] = True
        return held

    def holds(self, cells: Ints) -> Bools:
        """Which rules hold at which points: one row per point, one column per rule."""
        if not self.count:
            return np.zeros((len(cells), 0), dtype=np.bool_)
        owner = np.repeat(np.arange(self.count), np.diff(self.start))
        where = cells[:, self.feature[owner]]
        inside = (where >= self.low) & (where < self.high)
        held: Bools = np.logical_or.reduceat(inside, self.start[:-1], axis=1)
        return held

    @classmethod
    def of(
        cls,
        feature: Sequence[int],
        runs: Sequence[Sequence[tuple[int, int]]],
        names: Sequence[str] = (),
        thresholds: Sequence[float] | None = None,
    ) -> Rules:
        """Rules from a list of runs per rule.

        >>> Rules.of([0, 0], [[(0, 1)], [(0, 2), (3, 4)]]).mask(1, 4).tolist()
        [True, True, False, True]
        """
        filled = [each or [(0, 0)] for each in runs]  # a rule that never holds has one empty run
        flat = [run for each in filled for run in each]
        return cls(
            np.asarray(feature, dtype=np.int64),
            np.concatenate([[0], np.cumsum([len(each) for each in filled])]).astype(np.int64),
            np.array([low for low, _ in flat], dtype=np.int64),
            np.array([high for _, high in flat], dtype=np.int64),
            tuple(names),
            None if thresholds is None else np.asarray(thresholds, dtype=np.float64),
        )

    def extended(self, feature: Sequence[int], runs: Sequence[Sequence[tuple[int, int]]]) -> Rules:
        """These rules with more behind them."""
        more = Rules.of(feature, runs)
        names = (*self.names, *(f"condition {i}" for i in range(more.count))) if self.names else ()
        thresholds = self.thresholds
        if thresholds is not None:
            thresholds = np.concatenate([thresholds, np.full(more.count, np.nan)])
        return Rules(
            np.concatenate([self.feature, more.feature]),
            np.concatenate([self.start, more.start[1:] + self.start[-1]]),
            np.concatenate([self.low, more.low]),
            np.concatenate([self.high, more.high]),
            names,
            thresholds,
        )


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees over cells: the score of a point is ``base`` plus the values of the leaves it reaches.

    Nodes stand in preorder, tree after tree.  An inner node has a rule; where it holds the point
    goes left.  A leaf has ``rule == -1`` and a row in ``values``.  A point that reaches a leaf of
    ``forbidden`` does not exist: that is how conditions between features are said (penalty trees).
    ``roundoff`` is the unit of the model's own arithmetic: how far the sum that the model computes
    may lie from the true one.
    """

    rules: Rules
    roots: Ints
    rule: Ints
    left: Ints
    right: Ints
    leaf: Ints
    values: Floats
    forbidden: Bools
    base: Floats
    roundoff: float = 2.0**-53

    @property
    def trees(self) -> int:
        """The number of trees, penalty trees included."""
        return len(self.roots)

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return len(self.values)

    @property
    def outputs(self) -> int:
        """The length of a score: one number per class, as a rule."""
        return int(self.values.shape[1])

    @cached_property
    def tree_of_leaf(self) -> Ints:
        """The tree of every leaf."""
        nodes = np.flatnonzero(self.rule == LEAF)
        owner = np.searchsorted(self.roots, nodes, side="right") - 1
        tree = np.empty(self.leaves, dtype=np.int64)
        tree[self.leaf[nodes]] = owner
        return tree

    def nodes_of(self, tree: int) -> range:
        """The nodes of a tree, in preorder."""
        stop = self.roots[tree + 1] if tree + 1 < self.trees else len(self.rule)
        return range(int(self.roots[tree]), int(stop))

    def paths(self, tree: int) -> Iterator[tuple[int, list[tuple[int, bool]]]]:
        """Every leaf of a tree with its path: the rules on the way and whether they hold."""
        stack: list[tuple[int, list[tuple[int, bool]]]] = [(int(self.roots[tree]), [])]
        while stack:
            node, path = stack.pop()
            rule = int(self.rule[node])
            if rule == LEAF:
                yield int(self.leaf[node]), path
                continue
            stack.append((int(self.right[node]), [*path, (rule, False)]))
            stack.append((int(self.left[node]), [*path, (rule, True)]))

    def reached(self, cells: Ints) -> Ints:
        """The leaf that each point reaches in each tree."""
        held = self.rules.holds(cells)
        node = np.broadcast_to(self.roots, (len(cells), self.trees)).copy()
        point = np.arange(len(cells))[:, None]
        while True:
            rule = self.rule[node]
            inner = rule != LEAF
            if not inner.any():
                return self.leaf[node]
            goes_left = held[point, np.where(inner, rule, 0)] if self.rules.count else inner
            node = np.where(inner, np.where(goes_left, self.left[node], self.right[node]), node)

    def scores(self, cells: Ints) -> Floats:
        """The score of each point."""
        total: Floats = self.base + self.values[self.reached(cells)].sum(axis=1)
        return total

    def admits(self, cells: Ints) -> Bools:
        """Whether each point exists: it reaches no forbidden leaf."""
        exists: Bools = np.logical_not(self.forbidden[self.reached(cells)].any(axis=1))
        return exists

    def leaf_box(self, space: Space, cells: Ints) -> dict[int, Bools]:
        """The box of all points that reach the same leaves as a point: a mask of cells per feature.

        Features whose cell makes no difference are left out.
        """
        box = [np.ones(axis.size, dtype=np.bool_) for axis in space.axes]
        for root in self.roots:
            node = int(root)
            while (rule := int(self.rule[node])) != LEAF:
                feature = int(self.rules.feature[rule])
                mask = self.rules.mask(rule, len(box[feature]))
                holds = bool(mask[cells[feature]])
                box[feature] &= mask if holds else ~mask
                node = int(self.left[node] if holds else self.right[node])
        return {feature: mask for feature, mask in enumerate(box) if not mask.all()}

    def forbidding(self, boxes: Sequence[dict[int, Bools]]) -> Ensemble:
        """The same ensemble with a penalty tree for each box (a mask of cells per feature named in it).

        A box that names no feature forbids every point.
        """
        ensemble = self
        for box in boxes:
            ensemble = ensemble._with_penalty(box)
        return ensemble

    def _with_penalty(self, box: dict[int, Bools]) -> Ensemble:
        depth, first = len(box), len(self.rule)
        rules = self.rules.extended(list(box), [runs_of(mask) for mask in box.values()])
        # preorder of a chain: every rule's left child is the next rule, its right child is a free leaf
        inner = np.arange(depth)
        count = 2 * depth + 1
        rule = np.full(count, LEAF)
        rule[:depth] = self.rules.count + inner
        left, right, leaf = np.full(count, LEAF), np.full(count, LEAF), np.full(count, LEAF)
        left[:depth] = first + inner + 1
        right[:depth] = first + count - 1 - inner
        leaf[depth:] = self.leaves + np.arange(depth + 1)
        forbidden = np.zeros(depth + 1, dtype=np.bool_)
        forbidden[0] = True
        return Ensemble(
            rules,
            np.append(self.roots, first),
            np.concatenate([self.rule, rule]),
            np.concatenate([self.left, left]),
            np.concatenate([self.right, right]),
            np.concatenate([self.leaf, leaf]),
            np.vstack([self.values, np.zeros((depth + 1, self.outputs))]),
            np.concatenate([self.forbidden, forbidden]),
            self.base,
            self.roundoff,
        )


def runs_of(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs of true entries of a mask."""
    steps = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))
