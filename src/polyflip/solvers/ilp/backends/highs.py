"""HiGHS: the back-end that is always there, and the writer of program files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from polyflip.errors import SolverError
from polyflip.solvers.ilp.program import INF, Outcome, Program

__all__ = ["HighsBackend", "write"]

TOLERANCES = (1e-9, 1e-8, 1e-7)


class HighsBackend:
    """HiGHS on one thread; every call's status is checked.

    (Changing the number of threads between runs of one process makes HiGHS fail.)
    """

    name = "HiGHS"

    def solve(self, program: Program, time_limit: float | None) -> Outcome:
        """Ask with the strictest tolerance that HiGHS reaches; whoever asks checks the point."""
        for tolerance in TOLERANCES:
            outcome = _outcome(program, tolerance, time_limit)
            if outcome is not None:
                return outcome
        raise SolverError("HiGHS stopped without saying what it found")


def write(program: Program, path: Path) -> None:
    """Leave a program in an ``.lp`` or ``.mps`` file."""
    highs = _loaded(program, None, named=True)
    _check(highs.writeModel(str(path)), "writeModel")


def _outcome(program: Program, tolerance: float, time_limit: float | None) -> Outcome | None:
    import highspy

    highs = _loaded(program, time_limit, tolerance)
    _check(highs.run(), "run")
    status = highs.getModelStatus()
    kind = highspy.HighsModelStatus
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = np.array(highs.getSolution().col_value) if found else None
    whole = any(program.integer)
    bound = float(info.mip_dual_bound) if whole else float(info.objective_function_value)
    if status in (kind.kInfeasible, kind.kUnboundedOrInfeasible):  # every column is bounded
        return Outcome("infeasible", None, INF)
    if status == kind.kOptimal:
        return Outcome("optimal", values, bound)
    if status == kind.kInterrupt:
        raise KeyboardInterrupt
    if status == kind.kTimeLimit:
        return Outcome("time limit", values, bound if whole else -INF)
    if status == kind.kUnknown:
        return None
    raise SolverError(f"HiGHS stopped with {highs.modelStatusToString(status)!r}")


def _loaded(program: Program, time_limit: float | None, tolerance: float = 1e-9, named: bool = False) -> Any:
    import highspy

    arrays = program.sparse()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.names), len(program.rows)
    model.col_cost_, model.offset_ = arrays.cost, program.objective.constant
    model.col_lower_, model.col_upper_ = np.array(program.lower), np.array(program.upper)
    model.row_lower_, model.row_upper_ = arrays.lower, arrays.upper
    kind = highspy.HighsVarType
    model.integrality_ = [kind.kInteger if each else kind.kContinuous for each in program.integer]
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_, matrix.index_, matrix.value_ = arrays.start, arrays.column, arrays.value
    if named:
        model.col_names_ = _distinct(program.names)
        model.row_names_ = _distinct([row.name for row in program.rows])
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
