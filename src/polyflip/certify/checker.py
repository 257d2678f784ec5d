"""The checker: confirms in whole numbers that nothing cheaper exists, without any of the engine's code.

It needs numpy and the standard library, and of polyflip only the form of a proof.  A proof is a tree of
boxes with multipliers (:class:`polyflip.core.Proof` has the bound).  Whatever they are, their bound is a true
one.  They are rounded to multiples of a power of two, prices and what rows ask for are rounded down, what
leaves give is rounded up: from there on whole numbers are added, and nothing is rounded at all.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, gcd, log2
from typing import Any

import numpy as np

from polyflip.certify.form import RefusedError, refuse_malformed

__all__ = ["RefusedError", "confirm"]

CLOSED, FILTERED, SPLIT = 0, 1, 2
EQUAL = Fraction(3, 10**9)  # prices that differ by no more than this share count as equal
FAR = 2**61


def confirm(problem: Any, cost: float, proof: Any) -> None:
    """Refuse a proof unless by it every point of the problem costs ``cost`` or more (inf: there is none)."""
    try:
        checker = _Checker(problem, cost, proof)
        boxes = [(np.concatenate(problem.domain.allowed), ~problem.ensemble.forbidden)]
        for node, kind in enumerate(proof.kind.tolist()):
            cells, leaves = boxes.pop()
            if kind == SPLIT:
                other, below = checker.feature != proof.feature[node], checker.cell < proof.cut[node]
                boxes += [(cells & (other | ~below), leaves), (cells & (other | below), leaves)]
                continue
            left = checker.left_of(node, cells, leaves)
            if kind == FILTERED:
                boxes.append(left)
            elif kind != CLOSED or left[0].any():
                raise RefusedError(f"the bound of box {node} does not reach the cost")
    except (IndexError, ValueError, OverflowError, TypeError) as error:
        raise RefusedError(f"the proof fails: {error}") from error
    if boxes:
        raise RefusedError(f"the proof fails: {len(boxes)} of its boxes are never closed")


class _Checker:
    """A problem's trees as leaves with runs of cells, and its prices and rows in units of the proof."""

    def __init__(self, problem: Any, cost: float, proof: Any) -> None:
        asked, self.proof, self.trees = problem.requirement, proof, len(problem.ensemble.roots)
        self.sizes = np.array([len(price) for price in problem.cost.price])
        refuse_malformed(proof, self.sizes, self.trees, len(asked.at_least))
        self.feature = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.first = np.concatenate([[0], np.cumsum(self.sizes)])
        self.cell = np.arange(len(self.feature)) - self.first[self.feature]
        none = cost == np.inf  # where points cost nothing, none costs 1: so there is none
        units = Fraction(1) if none else Fraction(cost) / Fraction(proof.unit)
        price = np.concatenate(problem.cost.price) * (0.0 if none else 1.0 / proof.unit)
        self.price = np.where(np.concatenate(problem.domain.allowed), price, 0.0)
        self.goal = units * (1 - EQUAL)
        if proof.whole:  # then more than one unit less will do
            self.price, self.goal = np.floor(self.price * (1 + 1e-9)), Fraction(ceil(self.goal) - 1)
        if not proof.whole:
            self.price = np.minimum(self.price, 100.0 * (1.0 + float(self.goal)))  # dearer is dear enough
        self._read_leaves(problem.ensemble)
        rows = zip(asked.weights, asked.at_least, asked.strict, proof.scale.tolist(), strict=True)
        self.rows = [self._row(problem.ensemble, *row) for row in rows]

    def _read_leaves(self, trees: Any) -> None:
        """Per leaf, and per feature asked on the way to it, the runs of cells that lead there."""
        rules, runs = trees.rules, []
        owner: list[int] = []
        asked: list[int] = []
        masks = [np.zeros(self.sizes[j], np.bool_) for j in rules.feature]
        for r, mask in enumerate(masks):
            for k in range(rules.start[r], rules.start[r + 1]):
                mask[rules.low[k] : rules.high[k]] = True
        self.tree = np.zeros(len(trees.values), np.int64)
        stack: list[Any] = [(t, int(root), {}) for t, root in enumerate(trees.roots)]
        while stack:
            t, node, held = stack.pop()
            rule, leaf = int(trees.rule[node]), int(trees.leaf[node])
            if rule < 0:
                self.tree[leaf] = t
                runs += [(len(owner) + i, *run) for i, (_, own) in enumerate(held.values()) for run in own]
                owner += [leaf] * len(held)
                asked += list(held)
                continue
            j = int(rules.feature[rule])
            for child, mask in ((trees.left[node], masks[rule]), (trees.right[node], ~masks[rule])):
                inside = mask & held[j][0] if j in held else mask
                ends = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
                stack.append((t, int(child), {**held, j: (inside, ends.reshape(-1, 2).tolist())}))
        self.owner, self.asked = np.array(owner, np.int64), np.array(asked, np.int64)
        self.run, self.low, self.high = np.array(runs, np.int64).reshape(-1, 3).T

    def _row(self, trees: Any, weights: Any, at_least: Any, strict: Any, scale: Any) -> tuple[Any, Fraction]:
        """What each leaf gives to a row (times its scale), and the least sum that the model may call won."""
        given, used, size = trees.values @ weights, weights != 0, np.abs(weights)
        total = self._most(np.abs(trees.values) @ size) + float(np.abs(trees.base) @ size)
        target = Fraction(float(at_least - trees.base @ weights))
        slack = Fraction(4 * (self.trees + 4) * trees.roundoff * total)  # how far its own sums are off
        if scale <= 0:
            return given, target - slack
        whole, parts = np.rint(given * scale), np.append(trees.values[:, used], trees.base[used])
        off = Fraction(self._most(np.abs(given * scale - whole)))
        fine = [2**k for k in range(31) if (parts * 2.0**k == np.rint(parts * 2.0**k)).all()]
        exact = bool(fine) and off == 0 and 2 * total * fine[0] < 1 / trees.roundoff  # not off at all
        least = target * scale - (0 if exact else slack * scale + off)
        low = np.full(self.trees, np.inf)
        np.minimum.at(low, self.tree, whole)
        step = gcd(*(whole - low[self.tree]).astype(np.int64).tolist()) or 1  # the sums lie on a grid
        need = int(low.sum()) + ceil((least - int(low.sum())) / step) * step
        return whole, Fraction(need + step if exact and strict and need == least else need)

    def _most(self, amounts: Any) -> float:
        most = np.zeros(self.trees)
        np.maximum.at(most, self.tree, amounts)
        return float(most.sum())

    def left_of(self, node: int, cells: Any, leaves: Any) -> tuple[Any, Any]:
        """What a box's multipliers leave of it: cells and leaves that do not lift its bound to the cost."""
        proof, rows = self.proof, list(zip(self.proof.lam[node].tolist(), self.rows, strict=True))
        count, start = np.concatenate([[0], np.cumsum(cells)]), self.first[self.asked[self.run]]
        held = np.bincount(self.run, count[start + self.high] - count[start + self.low], len(self.owner))
        leaves = leaves & (np.bincount(self.owner, held == 0, len(leaves)) == 0)
        if not (set(range(self.trees)) <= set(self.tree[leaves]) and np.diff(count[self.first]).all()):
            return cells & False, leaves  # the box is empty
        slots = slice(proof.slots[node], proof.slots[node + 1])
        tree, feature, ends = proof.slot_tree[slots], proof.slot_feature[slots], proof.pieces[slots.start :]
        ends = ends[: len(tree) + 1]
        where, theta = proof.piece_cell[ends[0] : ends[-1]], proof.theta[ends[0] : ends[-1]]
        size = sum(lam * (abs(float(need)) + self._most(np.abs(given))) for lam, (given, need) in rows)
        bits = min(50, 59 - ceil(log2(1.0 + size + self.price.sum() + 2.0 * np.abs(theta).sum())))
        if bits < 1 or min(each.min(initial=0) for each in (tree, feature, where)) < 0:
            raise RefusedError(f"the multipliers of box {node} are too large, or lie outside of it")
        begin = np.concatenate([[0], np.cumsum(self.sizes[feature])])  # a price for every cell of every slot
        piece = np.zeros(begin[-1], np.int64)
        piece[np.repeat(begin[:-1], np.diff(ends)) + where] = np.arange(len(where))
        flat = np.rint(theta * 2.0**bits).astype(np.int64)[np.maximum.accumulate(piece)]
        cell = np.arange(len(flat)) + np.repeat(self.first[feature] - begin[:-1], self.sizes[feature])
        value = _down(self.price, bits)
        np.subtract.at(value, cell, flat)
        flat = np.append(np.where(cells[cell], flat, FAR), FAR)
        total = sum(floor(Fraction(lam) * need * 2**bits) for lam, (_, need) in rows)
        worth = sum((_down(-lam * given, bits) for lam, (given, _) in rows), np.zeros(len(leaves), np.int64))
        slot, least = np.full(self.trees * len(self.sizes), -1), np.full(len(self.owner), FAR)
        slot[tree * len(self.sizes) + feature] = np.arange(len(tree))
        slot = slot[self.tree[self.owner] * len(self.sizes) + self.asked]
        priced, start = slot >= 0, begin[slot[self.run]]
        edges = np.stack([start + self.low, start + self.high], axis=1)[priced[self.run]].ravel()
        whole = np.minimum.reduceat(flat, begin)[:-1]
        if len(edges):
            np.minimum.at(least, self.run[priced[self.run]], np.minimum.reduceat(flat, edges)[::2])
            np.add.at(worth, self.owner[priced], (least - whole[slot])[priced])
        base = np.zeros(self.trees, np.int64)
        np.add.at(base, tree, whole)
        worth, value = np.where(leaves, worth + base[self.tree], FAR), np.where(cells, value, FAR)
        best, cheapest = np.full(self.trees, FAR), np.minimum.reduceat(value, self.first[:-1])
        np.minimum.at(best, self.tree, worth)
        total += int(best.sum()) + int(cheapest.sum())
        goal = floor(self.goal * 2**bits) + 1 if proof.whole else ceil(self.goal * 2**bits)
        kept = total + value - cheapest[self.feature] < goal
        leaves = leaves & (total + worth - best[self.tree] < goal)
        return (cells & kept if total < goal else cells & False), leaves


def _down(values: Any, bits: int) -> Any:
    """Numbers in units of ``2 ** -bits``, rounded down."""
    scaled = values * 2.0**bits
    return np.floor(scaled - np.abs(scaled) * 2.0**-50).astype(np.int64)
