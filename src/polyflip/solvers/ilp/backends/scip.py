"""SCIP: a second opinion on every program (``pip install 'polyflip[scip]'``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyflip.errors import MissingDependencyError, SolverError
from polyflip.solvers.ilp.program import INF, Outcome, Program

__all__ = ["ScipBackend"]

TOLERANCE = 1e-9


class ScipBackend:
    """SCIP on one thread, with tolerances as strict as it takes."""

    name = "SCIP"

    def solve(self, program: Program, time_limit: float | None) -> Outcome:
        """Build the program in SCIP and solve it."""
        model, columns = _loaded(program)
        if time_limit is not None:
            model.setParam("limits/time", float(time_limit))
        getattr(model, "optimizeNogil", model.optimize)()
        status = model.getStatus()
        if status == "userinterrupt":  # SCIP takes Ctrl-C for itself
            raise KeyboardInterrupt
        if status in ("infeasible", "inforunbd"):  # every column is bounded
            return Outcome("infeasible", None, INF)
        if status not in ("optimal", "timelimit"):
            raise SolverError(f"SCIP stopped with {status!r}")
        values = None
        if model.getNSols():
            best = model.getBestSol()
            values = np.array([model.getSolVal(best, column) for column in columns])
        return Outcome("optimal" if status == "optimal" else "time limit", values, _bound(model))


def _bound(model: Any) -> float:
    bound = float(model.getDualbound())
    return -INF if abs(bound) >= model.infinity() else bound


def _loaded(program: Program) -> tuple[Any, list[Any]]:
    try:
        from pyscipopt import Model, quicksum
    except ImportError as error:
        raise MissingDependencyError("pyscipopt", "scip", "solver='scip'") from error
    model = Model("polyflip")
    model.hideOutput()
    for option, setting in (
        ("limits/gap", 0.0),
        ("limits/absgap", 0.0),
        ("numerics/feastol", TOLERANCE),
        ("numerics/dualfeastol", TOLERANCE),
        ("randomization/randomseedshift", 0),
    ):
        model.setParam(option, setting)
    bounds = zip(program.integer, program.lower, program.upper, strict=True)
    columns = [
        model.addVar(f"x{i}", "I" if whole else "C", lower, upper)
        for i, (whole, lower, upper) in enumerate(bounds)
    ]
    for row in program.rows:
        left = quicksum(value * columns[column] for column, value in row.terms.items())
        if row.lower == row.upper:
            model.addCons(left == row.lower)
            continue
        if row.lower > -INF:
            model.addCons(left >= row.lower)
        if row.upper < INF:
            model.addCons(left <= row.upper)
    terms = program.objective.terms.items()
    model.setObjective(quicksum(value * columns[column] for column, value in terms), "minimize")
    model.addObjoffset(program.objective.constant)
    return model, columns
