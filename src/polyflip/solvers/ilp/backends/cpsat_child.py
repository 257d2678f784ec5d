"""The process that runs CP-SAT: a program per line of JSON on its input, an answer per line on its output."""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["answer", "main"]


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Solve one program with one worker."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    columns = [model.new_int_var(low, high, "") for low, high in question["bounds"]]
    for index, values, limit, at_least in question["rows"]:
        left = cp_model.LinearExpr.weighted_sum([columns[i] for i in index], values)
        model.add(left >= limit if at_least else left <= limit)
    index, prices = question["objective"]
    model.minimize(cp_model.LinearExpr.weighted_sum([columns[i] for i in index], prices))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    if question["seconds"] is not None:
        solver.parameters.max_time_in_seconds = question["seconds"]
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return {"status": "infeasible"}
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
        return {"error": solver.status_name(status)}
    found = status != cp_model.UNKNOWN
    return {
        "status": "optimal" if status == cp_model.OPTIMAL else "time limit",
        "values": [solver.value(column) for column in columns] if found else None,
        "bound": solver.best_objective_bound,
    }


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Exception as error:  # whatever it is, the parent is told and says it
            said = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
