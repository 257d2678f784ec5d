"""An integer linear program with names: rows in groups, written to a file, solved by a back-end.

No modelling layer: a list of rows over named columns is all that the encodings need, and the names
are what lets a reader put the program next to the paper.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from polyflip.core.space import Floats
from polyflip.errors import InputError

if TYPE_CHECKING:
    from polyflip.solvers.ilp.backends import Backend

__all__ = ["Expression", "Outcome", "Program", "Row", "Sparse"]

INF = float("inf")


@dataclass(frozen=True)
class Expression:
    """A linear expression: a constant and a coefficient per column."""

    constant: float = 0.0
    terms: dict[int, float] = field(default_factory=dict)

    def plus(self, other: Expression, times: float = 1.0) -> Expression:
        """The sum of this expression and a multiple of another.

        >>> Expression(1.0, {0: 2.0}).plus(Expression(1.0, {0: 2.0}), -1.0)
        Expression(constant=0.0, terms={})
        """
        terms = dict(self.terms)
        for column, coefficient in other.terms.items():
            terms[column] = terms.get(column, 0.0) + times * coefficient
        kept = {column: value for column, value in terms.items() if value != 0.0}
        return Expression(self.constant + times * other.constant, kept)

    def over(self, unit: float) -> Expression:
        """The expression in units: divided, since one over the least of doubles is infinite.

        >>> Expression(0.0, {0: 5e-324}).over(5e-324)
        Expression(constant=0.0, terms={0: 1.0})
        """
        terms = {column: value / unit for column, value in self.terms.items()}
        return Expression(self.constant / unit, terms)

    def negated(self) -> Expression:
        """One minus this expression: the indicator of the opposite."""
        return Expression(1.0).plus(self, -1.0)

    @classmethod
    def total(cls, parts: list[Expression]) -> Expression:
        """The sum of expressions."""
        whole = cls()
        for part in parts:
            whole = whole.plus(part)
        return whole


@dataclass(frozen=True)
class Row:
    """``lower <= terms <= upper``, with a name and the group it belongs to."""

    name: str
    group: str
    terms: dict[int, float]
    lower: float
    upper: float


class Sparse(NamedTuple):
    """A program as arrays: entries of row r are ``start[r]:start[r + 1]``."""

    cost: Floats
    start: npt.NDArray[np.int32]
    column: npt.NDArray[np.int32]
    value: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class Outcome:
    """What a back-end said: a status, the columns' values, and the proven bound on the objective.

    ``status`` is ``optimal``, ``infeasible`` or ``time limit``.
    """

    status: str
    values: Floats | None
    bound: float


class Program:
    """An integer program under construction, and its solution.

    >>> program = Program()
    >>> x = program.column("x", integer=True)
    >>> program.row("at least one", "demand", Expression(0.0, {x: 1.0}), lower=1.0)
    >>> program.minimise(Expression(0.0, {x: 3.0}))
    >>> program.solve().bound
    3.0
    """

    def __init__(self, title: str = "", notes: tuple[str, ...] = ()) -> None:
        self.title = title
        self.notes = notes
        self.names: list[str] = []
        self.integer: list[bool] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.rows: list[Row] = []
        self.objective = Expression()

    def column(self, name: str, integer: bool = False, lower: float = 0.0, upper: float = 1.0) -> int:
        """A new column; 0/1 where nothing else is said."""
        self.names.append(name)
        self.integer.append(integer)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.names) - 1

    def row(self, name: str, group: str, left: Expression, lower: float = -INF, upper: float = INF) -> None:
        """A new row ``lower <= left <= upper``; the constant of ``left`` moves to the bounds."""
        self.rows.append(Row(name, group, left.terms, lower - left.constant, upper - left.constant))

    def minimise(self, objective: Expression) -> None:
        """Set the objective."""
        self.objective = objective

    def count(self, group: str | None = None) -> int:
        """The number of rows, of one group where one is named."""
        return sum(group is None or row.group == group for row in self.rows)

    def describe(self) -> str:
        """Columns and rows by group, and what the encoding has to say of them."""
        groups = Counter(row.group for row in self.rows)
        integers = sum(self.integer)
        lines = [
            self.title,
            f"  columns      {len(self.names):>7,}  ({integers:,} of them 0/1)",
            f"  constraints  {len(self.rows):>7,}",
            *(f"    {group:<20} {count:>7,}" for group, count in groups.items()),
            *(f"  {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        """The program as one would write it on paper."""
        lines = [f"min {self._linear(self.objective.terms, self.objective.constant)}", "s.t."]
        for row in self.rows:
            left = self._linear(row.terms)
            if row.lower == row.upper:
                lines.append(f"  {left} = {row.lower:g}    [{row.group}]")
            elif row.lower == -INF:
                lines.append(f"  {left} <= {row.upper:g}    [{row.group}]")
            else:
                lines.append(f"  {left} >= {row.lower:g}    [{row.group}]")
        return "\n".join(lines)

    def _linear(self, terms: dict[int, float], constant: float = 0.0) -> str:
        text = f"{constant:g}" if constant or not terms else ""
        for column, value in terms.items():
            sign = "-" if value < 0 else "+"
            size = "" if abs(value) == 1 else f"{abs(value):g} "
            text += (
                f" {sign} {size}{self.names[column]}"
                if text
                else f"{'-' * (value < 0)}{size}{self.names[column]}"
            )
        return text

    def write_program(self, path: str | Path) -> Path:
        """Leave the program in an ``.lp`` or ``.mps`` file."""
        if not isinstance(path, (str, Path)):
            raise InputError(f"write_program: {path!r} is no path")
        target = Path(path)
        if target.suffix not in (".lp", ".mps"):
            raise InputError(f"write_program: {target.name!r} must end in .lp or .mps")
        if not target.parent.is_dir():
            raise InputError(f"write_program: there is no folder {str(target.parent)!r}")
        try:
            target.open("w").close()  # HiGHS ends the process where it cannot write
        except OSError as error:
            raise InputError(f"write_program: {str(target)!r} cannot be written: {error.strerror}") from error
        from polyflip.solvers.ilp.backends.highs import write

        write(self, target)
        return target

    def solve(self, time_limit: float | None = None, backend: Backend | None = None) -> Outcome:
        """Ask a back-end (HiGHS where none is named)."""
        if time_limit is not None and time_limit <= 0:
            return Outcome("time limit", None, -INF)
        if not self.names:  # no columns: feasible iff every row holds for nothing
            if all(row.lower <= 0.0 <= row.upper for row in self.rows):
                return Outcome("optimal", np.zeros(0), self.objective.constant)
            return Outcome("infeasible", None, INF)
        if backend is None:
            from polyflip.solvers.ilp.backends.highs import HighsBackend

            backend = HighsBackend()
        return backend.solve(self, time_limit)

    def sparse(self) -> Sparse:
        """The rows as one sparse matrix, and the objective as one vector."""
        cost = np.zeros(len(self.names))
        for column, value in self.objective.terms.items():
            cost[column] = value
        return Sparse(
            cost=cost,
            start=np.concatenate([[0], np.cumsum([len(row.terms) for row in self.rows])]).astype(np.int32),
            column=np.array([c for row in self.rows for c in row.terms], dtype=np.int32),
            value=np.array([v for row in self.rows for v in row.terms.values()], dtype=np.float64),
            lower=np.array([row.lower for row in self.rows]),
            upper=np.array([row.upper for row in self.rows]),
        )
