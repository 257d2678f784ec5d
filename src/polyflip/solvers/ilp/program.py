"""An integer linear program with names: rows in groups, written to a file, solved by HiGHS.

No modelling layer: a list of rows over named columns is all that the encodings need, and the names
are what lets a reader put the program next to the paper.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from polyflip.core.space import Floats
from polyflip.errors import InputError, SolverError

__all__ = ["Expression", "Outcome", "Program", "Row"]

INF = float("inf")
TOLERANCES = (1e-9, 1e-8, 1e-7)


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


@dataclass(frozen=True)
class Outcome:
    """What HiGHS said: a status, the columns' values, and the proven bound on the objective."""

    status: str
    values: Floats | None
    bound: float


class Program:
    """An integer program under construction, and its solution by HiGHS.

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
        highs = self._highs(None, named=True)
        _check(highs.writeModel(str(target)), "writeModel")
        return target

    def solve(self, time_limit: float | None = None, start: Floats | None = None) -> Outcome:
        """Ask HiGHS; every call's status is checked, and one thread is used.

        (Changing the number of threads between runs of one process makes HiGHS fail.)
        """
        if time_limit is not None and time_limit <= 0:
            return Outcome("time limit", None, -INF)
        for tolerance in TOLERANCES:  # the strictest is not always reached; whoever asks checks the point
            outcome = self._outcome(tolerance, time_limit, start)
            if outcome is not None:
                return outcome
        raise SolverError("HiGHS stopped without saying what it found")

    def _outcome(self, tolerance: float, time_limit: float | None, start: Floats | None) -> Outcome | None:
        import highspy

        highs = self._highs(time_limit, tolerance)
        if start is not None:
            given = highspy.HighsSolution()
            given.col_value = start
            _check(highs.setSolution(given), "setSolution")
        _check(highs.run(), "run")
        status = highs.getModelStatus()
        kind = highspy.HighsModelStatus
        info = highs.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(highs.getSolution().col_value) if found else None
        bound = float(info.mip_dual_bound) if any(self.integer) else float(info.objective_function_value)
        if status in (kind.kInfeasible, kind.kUnboundedOrInfeasible):  # every column is bounded
            return Outcome("infeasible", None, INF)
        if status == kind.kOptimal:
            return Outcome("optimal", values, bound)
        if status == kind.kModelEmpty:  # no columns: feasible iff every row holds for nothing
            if all(row.lower <= 0.0 <= row.upper for row in self.rows):
                return Outcome("optimal", np.zeros(0), self.objective.constant)
            return Outcome("infeasible", None, INF)
        if status in (kind.kTimeLimit, kind.kInterrupt):
            return Outcome("time limit", values, bound if any(self.integer) else -INF)
        if status == kind.kUnknown:
            return None
        raise SolverError(f"HiGHS stopped with {highs.modelStatusToString(status)!r}")

    def _highs(self, time_limit: float | None, tolerance: float = 1e-9, named: bool = False) -> highspy.Highs:  # type: ignore[name-defined]  # noqa: F821
        import highspy

        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.names), len(self.rows)
        cost = np.zeros(len(self.names))
        for column, value in self.objective.terms.items():
            cost[column] = value
        model.col_cost_, model.offset_ = cost, self.objective.constant
        model.col_lower_, model.col_upper_ = np.array(self.lower), np.array(self.upper)
        model.row_lower_ = np.array([row.lower for row in self.rows])
        model.row_upper_ = np.array([row.upper for row in self.rows])
        kind = highspy.HighsVarType
        model.integrality_ = [kind.kInteger if each else kind.kContinuous for each in self.integer]
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.concatenate([[0], np.cumsum([len(row.terms) for row in self.rows])]).astype(
            np.int32
        )
        matrix.index_ = np.array([c for row in self.rows for c in row.terms], dtype=np.int32)
        matrix.value_ = np.array([v for row in self.rows for v in row.terms.values()], dtype=np.float64)
        if named:
            model.col_names_ = _distinct(self.names)
            model.row_names_ = _distinct([row.name for row in self.rows])
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, setting in (
            ("output_flag", False),
            ("threads", 1),
            ("random_seed", 0),
            ("presolve", "off"),  # with it HiGHS 1.15.1 calls wrong points optimal, see tests/solvers
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 1e-9),
            ("mip_feasibility_tolerance", tolerance),
            ("primal_feasibility_tolerance", tolerance),
            ("dual_feasibility_tolerance", tolerance),
        ):
            _check(highs.setOptionValue(option, setting), option)
        if time_limit is not None:
            _check(highs.setOptionValue("time_limit", float(time_limit)), "time_limit")
        _check(highs.passModel(model), "passModel")
        return highs


def _check(status: object, call: str) -> None:
    import highspy

    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused the call {call!r}")


def _distinct(names: list[str]) -> list[str]:
    """Names as program files allow them (no blanks or signs), each once."""
    seen: Counter[str] = Counter()
    safe = []
    for name in names:
        plain = name.replace("<=", "_le_").replace(">", "_gt_").replace("=", "_is_").replace(" - ", "_minus_")
        plain = re.sub(r"[^A-Za-z0-9_.]+", "_", plain).strip("_")
        plain = plain if re.match(r"[A-DF-Za-df-z_]", plain) else f"x_{plain}"
        seen[plain] += 1
        safe.append(plain if seen[plain] == 1 else f"{plain}__{seen[plain]}")
    return safe
