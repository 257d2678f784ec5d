"""Gurobi, for those who have a licence (``pip install 'polyflip[gurobi]'``)."""

from __future__ import annotations

import numpy as np

from polyflip.errors import MissingDependencyError, SolverError
from polyflip.solvers.ilp.program import INF, Outcome, Program

__all__ = ["GurobiBackend"]

TOLERANCE = 1e-9


class GurobiBackend:
    """Gurobi on one thread, with tolerances as strict as it takes."""

    name = "Gurobi"

    def solve(self, program: Program, time_limit: float | None) -> Outcome:
        """Build the program in Gurobi and solve it; the free licence stops at 2,000 columns or rows."""
        try:
            import gurobipy
        except ImportError as error:
            raise MissingDependencyError("gurobipy", "gurobi", "solver='gurobi'") from error
        try:
            return _outcome(program, time_limit)
        except gurobipy.GurobiError as error:
            size = f"{len(program.names):,} columns and {len(program.rows):,} rows"
            raise SolverError(f"Gurobi refused a program of {size}: {error}") from error


def _outcome(program: Program, time_limit: float | None) -> Outcome:
    import gurobipy as gp
    from scipy.sparse import csr_matrix

    arrays, code = program.sparse(), gp.GRB
    shape = (len(program.rows), len(program.names))
    matrix = csr_matrix((arrays.value, arrays.column, arrays.start), shape=shape)
    with gp.Env(empty=True) as env:
        env.setParam("OutputFlag", 0)
        env.start()
        with gp.Model("polyflip", env=env) as model:
            for option, setting in (
                ("Threads", 1),
                ("Seed", 0),
                ("MIPGap", 0.0),
                ("MIPGapAbs", TOLERANCE),
                ("FeasibilityTol", TOLERANCE),
                ("IntFeasTol", TOLERANCE),
                ("OptimalityTol", TOLERANCE),
                ("TimeLimit", INF if time_limit is None else float(time_limit)),
            ):
                model.setParam(option, setting)
            kinds = np.where(np.array(program.integer), code.INTEGER, code.CONTINUOUS)
            lower, upper = np.array(program.lower), np.array(program.upper)
            columns = model.addMVar(shape[1], lb=lower, ub=upper, obj=arrays.cost, vtype=kinds)
            model.ObjCon = program.objective.constant
            for side, sense in ((arrays.lower, ">"), (arrays.upper, "<")):
                rows = np.isfinite(side)
                if rows.any():
                    model.addMConstr(matrix[rows], columns, sense, side[rows])
            model.optimize()
            if model.Status == code.INTERRUPTED:
                raise KeyboardInterrupt
            if model.Status in (code.INFEASIBLE, code.INF_OR_UNBD):  # every column is bounded
                return Outcome("infeasible", None, INF)
            if model.Status not in (code.OPTIMAL, code.TIME_LIMIT):
                raise SolverError(f"Gurobi stopped with status {model.Status}")
            values = np.array(columns.X) if model.SolCount else None
            bound = float(model.ObjBound) if any(program.integer) else float(model.ObjVal)
            done = model.Status == code.OPTIMAL
            return Outcome("optimal" if done else "time limit", values, bound)
