"""The cheapest point that the model itself sends to another class: solve, ask the model, repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from polyflip.answers.case import Case
from polyflip.answers.progress import Progress
from polyflip.core import Cost, Domain, Problem, Requirement, Solution, Status
from polyflip.core.requirement import roundoff
from polyflip.core.space import Floats, Ints
from polyflip.errors import ModelError, SolverError
from polyflip.solvers import Solver

__all__ = ["Flip", "cheapest_flip", "problem_of", "refuse_contradiction", "requirement_for"]

MOST_TIES = 200


@dataclass(frozen=True, eq=False)
class Flip:
    """A solution with the values that are shown for it and the class to which it goes.

    ``passed`` are, per class, the ties that were struck out because the model decides them otherwise.
    """

    solution: Solution
    target: int
    values: Floats | None
    columns: dict[str, object] | None
    passed: Mapping[int, tuple[Ints, ...]] = field(default_factory=dict)


def requirement_for(case: Case, target: int) -> Requirement:
    """What a point must meet to go to a class, as the vote in force counts."""
    reading = case.subject.reading
    return Requirement.wins(target, len(reading.classes), reading.outright)


def problem_of(case: Case, target: int, domain: Domain, cost: Cost, passed: Sequence[Ints] = ()) -> Problem:
    """The problem of a class, without what reaches the same leaves as a tie that was passed over."""
    subject = case.subject
    problem = Problem(
        subject.space, subject.ensemble, requirement_for(case, target), cost, domain, subject.hints
    )
    return problem.without([subject.ensemble.leaf_box(subject.space, cells) for cells in passed])


def cheapest_flip(
    case: Case,
    targets: Sequence[int],
    domain: Domain,
    cost: Cost,
    solver: Solver,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Flip:
    """The cheapest point of any of the target classes.

    The bound of several targets is the least of their bounds.
    """
    started = perf_counter()
    best: Flip | None = None
    bounds: list[float] = []
    passed: dict[int, tuple[Ints, ...]] = {}
    stopped = False
    for target in targets:
        left = None if time_limit is None else time_limit - (perf_counter() - started)
        watched = solver if progress is None else progress.following(solver, target)
        flip = _one_target(case, target, domain, cost, watched, left)
        if progress is not None:
            progress.passed(flip.solution, target)
        bounds.append(flip.solution.bound)
        passed |= flip.passed
        if best is None or _before(cost, flip.solution, best.solution):
            best = flip
        stopped |= flip.solution.stopped
        if stopped:
            bounds += [0.0] * (len(targets) - len(bounds))
            break
    if best is None:  # the model knows one class only
        nothing = Solution(Status.INFEASIBLE, None, np.inf, np.inf, solver.name, 0.0)
        return Flip(nothing, case.decided, None, None)
    bound = min(bounds)
    solution = replace(best.solution, bound=bound, seconds=perf_counter() - started, stopped=stopped)
    if solution.cells is None:
        status = Status.INFEASIBLE if bound == np.inf else Status.UNKNOWN
    else:
        proved = solution.status is Status.OPTIMAL and bound >= solution.cost - cost.room(solution.cost)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        solution = replace(solution, bound=solution.cost) if proved else solution
    return Flip(replace(solution, status=status), best.target, best.values, best.columns, passed)


def _before(cost: Cost, one: Solution, other: Solution) -> bool:
    if one.cells is None or other.cells is None:
        return other.cells is None and one.cells is not None
    return cost.better(cost.rank(one.cells), cost.rank(other.cells))


def _one_target(
    case: Case, target: int, domain: Domain, cost: Cost, solver: Solver, time_limit: float | None
) -> Flip:
    """The cheapest point of one class.

    A point on which the model's floating sum falls on the other side of a tie is struck out with all
    points that reach the same leaves, and the question is asked again: no other point is lost, and
    the answer stays optimal.
    """
    started = perf_counter()
    passed: tuple[Ints, ...] = ()
    while len(passed) < MOST_TIES:
        left = None if time_limit is None else time_limit - (perf_counter() - started)
        problem = problem_of(case, target, domain, cost, passed)
        solution = solver.cheapest(problem, left)
        if solution.cells is None:
            return Flip(solution, target, None, None, {target: passed})
        values = case.values_at(solution.cells, domain)
        columns = case.columns_at(values)
        if case.wins(columns, target):
            return Flip(solution, target, values, columns, {target: passed})
        refuse_contradiction(case, solution.cells, problem.requirement)
        if solution.stopped:
            nothing = Solution(Status.UNKNOWN, None, np.inf, solution.bound, solution.solver, stopped=True)
            return Flip(nothing, target, None, None, {target: passed})
        passed = (*passed, solution.cells)
    raise SolverError(
        f"the model's rounding decided {MOST_TIES} ties against the wanted class; nothing better can be said"
    )


def refuse_contradiction(case: Case, cells: Ints, requirement: Requirement) -> None:
    """Refuse a model whose predict contradicts its own trees at a point that is no tie.

    A tie may fall on either side by rounding; anything else means that the model was not read right
    (a predict that was overridden, say), and that no answer about it can be trusted.
    """
    ensemble = case.subject.ensemble
    score = ensemble.scores(cells[None])[0]
    rows = zip(requirement.weights, requirement.at_least, strict=True)
    if all(float(w @ score) - least > roundoff(ensemble, w) for w, least in rows):
        shown = case.columns_at(case.values_at(cells, case.subject.space.everything()))
        raise ModelError(
            f"the predict of this {case.subject.reading.kind} contradicts its own trees at {shown}: "
            "its answers cannot be explained from them"
        )
