"""The columns that both encodings share: which cell each feature is in.

A number is the chain of its rules, one 0/1 column per boundary between cells (``1[x <= t]``).  A
category is one 0/1 column per label that sum to one (the paper's section on the non-binary case);
a category of two labels is a single column.  Any price per cell is linear in either.
"""

from __future__ import annotations

import numpy as np

from polyflip.core import Axis, Problem
from polyflip.core.space import Floats, Ints
from polyflip.solvers.ilp.program import Expression, Program

__all__ = ["Grid"]


class Grid:
    """The columns of a space in a program, and the expressions over them."""

    def __init__(self, program: Program, problem: Problem) -> None:
        self.program = program
        self.problem = problem
        self._below: list[list[Expression]] = []  # per feature and cell: 1[cell <= c], numbers only
        self._in: list[list[Expression]] = []  # per feature and cell: 1[cell = c]
        self._rules: dict[int, Expression] = {}
        for feature, axis in enumerate(problem.space.axes):
            if axis.kind == "category":
                self._add_category(axis)
            else:
                self._add_number(axis)
            self._strike(feature)

    def _add_category(self, axis: Axis) -> None:
        add = self.program.column
        if axis.size == 1:
            cells = [Expression(1.0)]
        elif axis.size == 2 and not axis.missing:
            one = Expression(0.0, {add(self._binary_name(axis), integer=True): 1.0})
            cells = [one.negated(), one]
        else:
            names = [f"{axis.name}={label}" for label in axis.labels] + [
                f"{axis.name} missing"
            ] * axis.missing
            cells = [Expression(0.0, {add(name, integer=True): 1.0}) for name in names]
            one_of = Expression.total(cells)
            self.program.row(f"one value of {axis.name}", "one value", one_of, 1.0, 1.0)
        self._in.append(cells)
        self._below.append([])

    @staticmethod
    def _binary_name(axis: Axis) -> str:
        return axis.name if axis.labels == (0, 1) else f"{axis.name}={axis.labels[1]}"

    def _add_number(self, axis: Axis) -> None:
        below = []
        for cell in range(axis.size - 1):
            last = axis.missing and cell == axis.size - 2
            name = f"{axis.name} not missing" if last else f"{axis.name}<={axis.up_to[cell]:.17g}"
            below.append(Expression(0.0, {self.program.column(name, integer=True): 1.0}))
        below.append(Expression(1.0))
        before = [Expression(), *below[:-1]]
        self._below.append(below)
        self._in.append([here.plus(there, -1.0) for here, there in zip(below, before, strict=True)])

    def _strike(self, feature: int) -> None:
        """Strike out the cells that the domain does not allow."""
        name, mask = self.problem.space.axes[feature].name, self.problem.domain.allowed[feature]
        if not mask.any():
            self.program.row(f"no cell of {name} is left", "domain", Expression(1.0), 0.0, 0.0)
            return
        for cell in np.flatnonzero(~mask):
            outside = self._in[feature][int(cell)]
            if len(outside.terms) == 1:  # a bound on the column does it
                (column, sign), held = next(iter(outside.terms.items())), -outside.constant
                self.program.lower[column] = self.program.upper[column] = held / sign
            else:
                self.program.row(f"{name} not in cell {cell}", "domain", outside, 0.0, 0.0)

    def inside(self, feature: int, runs: list[tuple[int, int]]) -> Expression:
        """The indicator that a feature is in one of the runs of cells."""
        below, cells = self._below[feature], self._in[feature]
        total = Expression()
        for low, high in runs:
            if high <= low:
                continue
            if below:  # 1[low <= cell < high] = 1[cell < high] - 1[cell < low]
                total = total.plus(below[high - 1])
                total = total.plus(below[low - 1], -1.0) if low else total
            elif high - low == len(cells):
                return Expression(1.0)
            else:
                total = total.plus(Expression.total(cells[low:high]))
        return total

    def rule(self, rule: int) -> Expression:
        """The indicator of a rule of the ensemble."""
        if rule not in self._rules:
            rules = self.problem.ensemble.rules
            self._rules[rule] = self.inside(int(rules.feature[rule]), rules.runs(rule))
        return self._rules[rule]

    def literals(self, path: list[tuple[int, bool]]) -> list[Expression]:
        """The factors of a leaf's monomial: each rule on its path, or one minus it."""
        return [self.rule(rule) if holds else self.rule(rule).negated() for rule, holds in path]

    def price(self, cells: tuple[Floats, ...]) -> Expression:
        """The sum over features of a price per cell."""
        total = Expression()
        for feature, prices in enumerate(cells):
            if self._below[feature]:
                total = total.plus(Expression(float(prices[-1])))
                for cell, below in enumerate(self._below[feature][:-1]):
                    total = total.plus(below, float(prices[cell] - prices[cell + 1]))
            else:
                for price, here in zip(prices, self._in[feature], strict=True):
                    total = total.plus(here, float(price))
        return total

    def chain(self, feature: int) -> list[tuple[float, int]]:
        """The rules of a number in order of their thresholds: (threshold, column)."""
        axis = self.problem.space.axes[feature]
        return [
            (float(axis.up_to[cell]), next(iter(below.terms)))
            for cell, below in enumerate(self._below[feature][:-1])
        ]

    def read(self, values: Floats) -> Ints:
        """The cell of each feature in a solution: the one whose indicator is largest."""
        cells = []
        for options in self._in:
            sizes = [each.constant + sum(c * values[i] for i, c in each.terms.items()) for each in options]
            cells.append(int(np.argmax(sizes)))
        return np.array(cells, dtype=np.int64)
