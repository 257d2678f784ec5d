"""Who takes part: each takes an instance and a limit of time, and says what it proved in how long."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.instances import ROWS, Instance, explainer_of, model_of, prepare, table_of
from polyflip.core import Problem, Solution, Status
from polyflip.core.space import Ints
from polyflip.solvers import Solver, solver_named
from polyflip.solvers.search import SearchSolver

__all__ = ["CONTESTANTS", "Run", "warm_up"]


@dataclass(frozen=True)
class Run:
    """What one contestant did with one instance.

    ``valid``: its point meets the requirement, computed exactly.  ``tie``: and yet the model's own rounding
    decides it otherwise (``Explainer`` passes such points over and asks again, for every solver).  ``root``
    is the time to the first bound of the whole domain.
    """

    status: str
    cost: float
    seconds: float
    valid: bool | None = None
    tie: bool = False
    root: float | None = None


def _judged(instance: Instance, solution: Solution, problem: Problem, **more: Any) -> Run:
    valid, tie = None, False
    if solution.cells is not None:
        question, _ = prepare(instance)
        case, domain = question.case, question.domain
        columns = case.columns_at(case.values_at(solution.cells, domain))
        valid = problem.meets(solution.cells)
        tie = valid and not case.wins(columns, question.targets[0])
    return Run(str(solution.status), solution.cost, solution.seconds, valid, tie, **more)


def _search(instance: Instance, limit: float) -> Run:
    """The search of polyflip; the root is timed by watching it."""
    _, problem = prepare(instance)
    roots: list[float] = []

    def watch(_cells: Ints | None, _cost: float, bound: float) -> bool:
        if bound > 0.0 and not roots:
            roots.append(perf_counter() - started)
        return False

    started = perf_counter()
    solution = _timed(SearchSolver(watch=watch).cheapest(problem, limit), started)
    return _judged(instance, solution, problem, root=roots[0] if roots else solution.seconds)


def _timed(solution: Solution, started: float) -> Solution:
    return replace(solution, seconds=perf_counter() - started)


def _program(name: str, encoding: str) -> Callable[[Instance, float], Run]:
    kept: dict[str, Solver] = {}

    def run(instance: Instance, limit: float) -> Run:
        solver = kept.setdefault(name, solver_named(name, encoding))
        _, problem = prepare(instance)
        started = perf_counter()
        solution = _timed(solver.cheapest(problem, limit), started)
        return _judged(instance, solution, problem)

    return run


def _treecf(instance: Instance, limit: float) -> Run | None:
    """The peer, on what it supports: numbers, two classes, the mean of the trees, l1; None elsewhere."""
    table = table_of(instance.data)
    fits = table.numeric and instance.vote == "model" and instance.distance == "l1-std"
    if not fits or instance.conditions:
        return None
    import treecf

    question, _ = prepare(instance)
    matrix = table.matrix
    spread = matrix.std(axis=0)
    explainer = _treecf_explainer(instance.forest, np.where(spread > 0, spread, 1.0))
    x = matrix[instance.row * (len(table.target) // ROWS)]
    to_one = question.targets[0] == 1
    target = treecf.Target.raw(op=">=" if to_one else "<=", value=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = perf_counter()
        answer = explainer.explain(
            x, target, backend="exact", time_budget_s=limit, seed=0, node_budget=10**12
        )
        seconds = perf_counter() - started
    if isinstance(answer, treecf.Infeasible):
        return Run("infeasible" if answer.proof == "certified" else "unknown", math.inf, seconds)
    proved = answer.proof == "optimal"
    model = model_of(*instance.forest)
    point = np.asarray(answer.x_cf, dtype=float)[None]
    valid = bool(model.predict(point)[0] == model.classes_[question.targets[0]])
    return Run("optimal" if proved else "feasible", float(answer.distance), seconds, valid)


_EXPLAINERS: dict[Any, Any] = {}


def _treecf_explainer(forest: Any, spread: Any) -> Any:
    import treecf

    if forest not in _EXPLAINERS:
        _EXPLAINERS.clear()
        _EXPLAINERS[forest] = treecf.Explainer(model_of(*forest), normalizers=spread)
    return _EXPLAINERS[forest]


CONTESTANTS: dict[str, Callable[[Instance, float], Run | None]] = {
    "search": _search,
    "HiGHS tight": _program("ilp", "tight"),
    "HiGHS paper": _program("ilp", "paper"),
    "SCIP tight": _program("scip", "tight"),
    "CP-SAT": _program("cpsat", "tight"),
    "treecf": _treecf,
}


def warm_up(names: list[str]) -> None:
    """Compile, import and start whatever is done once per machine or process."""
    small = Instance("breast cancer", 10, 3, "model", "l1-std", False, 0)
    explainer_of(*small.forest, small.vote)
    for name in names:
        run = CONTESTANTS[name](small, 60.0)
        assert run is None or run.status == Status.OPTIMAL, (name, run)
