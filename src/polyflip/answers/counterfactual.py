"""Counterfactuals: the least change that flips a decision, under the user's conditions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyflip.answers import words
from polyflip.answers.case import Case
from polyflip.answers.flip import cheapest_flip, requirement_for
from polyflip.answers.region import Change, Interval, Values, changes_between, region_of
from polyflip.conditions import Where, clashing, domain_of, parse, restrict
from polyflip.core import Cost, Domain, Problem, Status
from polyflip.distances import Distance
from polyflip.errors import InputError
from polyflip.frames import Row, plain, to_frame
from polyflip.solvers import Solver
from polyflip.solvers.ilp import Program, encode

__all__ = ["Counterfactual", "counterfactual", "program_of"]


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The least change that flips a decision, or the proof that there is none.

    ``status`` says what is known: ``optimal`` (proved), ``feasible`` (valid, nothing cheaper than
    ``bound`` exists), ``infeasible`` (proved, ``reason`` says why) or ``unknown`` (out of time).
    """

    status: Status
    decision: object
    target: object
    cost: float
    bound: float
    point: dict[str, object] | None
    region: dict[str, Interval | Values]
    changes: tuple[Change, ...]
    factual: dict[str, object]
    conditions: tuple[str, ...]
    distance: str
    vote: str
    solver: str
    seconds: float
    reason: str = ""
    notes: tuple[str, ...] = ()
    _like: Row = field(default_factory=lambda: Row({}), repr=False)

    @property
    def gap(self) -> float:
        """How much cheaper a better answer could be, as a share of the cost."""
        if self.cost == self.bound:
            return 0.0
        return (self.cost - self.bound) / self.cost if self.point is not None else np.inf

    @property
    def found(self) -> bool:
        """Whether there is a point."""
        return self.point is not None

    def to_frame(self) -> Any:
        """The point as a one-row frame of the kind that was given, fit for the model's predict.

        The frame has no rows where there is no point.
        """
        return to_frame([] if self.point is None else [self.point], tuple(self.factual), self._like)

    def to_dict(self) -> dict[str, object]:
        """Plain values, fit for JSON."""
        return {
            "status": str(self.status),
            "decision": plain(self.decision),
            "target": plain(self.target),
            "cost": words.finite(self.cost),
            "bound": words.finite(self.bound),
            "factual": {name: plain(value) for name, value in self.factual.items()},
            "point": None
            if self.point is None
            else {name: plain(value) for name, value in self.point.items()},
            "changes": [change.to_dict() for change in self.changes],
            "region": {name: part.to_dict() for name, part in self.region.items()},
            "conditions": list(self.conditions),
            "distance": self.distance,
            "vote": self.vote,
            "solver": self.solver,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
            "notes": list(self.notes),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        """The answer in words."""
        return words.counterfactual(self)

    def _repr_html_(self) -> str:
        return words.counterfactual_html(self)


@dataclass(frozen=True, eq=False)
class _Question:
    """A question about a case, ready to be asked."""

    domain: Domain
    cost: Cost
    targets: tuple[int, ...]
    conditions: tuple[str, ...]
    clash: tuple[str, ...]


def counterfactual(
    case: Case,
    target: object,
    where: Where,
    distance: Distance,
    weights: Mapping[str, float] | None,
    solver: Solver,
    time_limit: float | None,
) -> Counterfactual:
    """Ask for the cheapest flip and read it back."""
    question = _question(case, target, where, distance, weights)
    flip = cheapest_flip(case, question.targets, question.domain, question.cost, solver, time_limit)
    solution, reading = flip.solution, case.subject.reading
    wanted = target if target is not None else _other(case, flip.target, solution.cells is not None)
    reason = "" if solution.status is not Status.INFEASIBLE else _reason(case, question, wanted)
    found = solution.cells is not None and flip.values is not None
    return Counterfactual(
        status=solution.status,
        decision=case.decision,
        target=plain(wanted),
        cost=solution.cost,
        bound=solution.bound,
        point=flip.columns,
        region=region_of(case, solution.cells, question.domain) if solution.cells is not None else {},
        changes=changes_between(case, flip.values, solution.cells, question.domain) if found else (),  # type: ignore[arg-type]
        factual=dict(case.row.values),
        conditions=question.conditions,
        distance=distance
        if isinstance(distance, str)
        else " + ".join(f"{s:g} {n}" for n, s in distance.items()),
        vote=reading.vote,
        solver=solution.solver,
        seconds=solution.seconds,
        reason=reason,
        notes=(*flip.notes, *question.cost.notes),
        _like=case.row,
    )


def program_of(
    case: Case,
    target: object,
    where: Where,
    distance: Distance,
    weights: Mapping[str, float] | None,
    encoding: str,
) -> Program:
    """The integer program of a question with one target class."""
    question = _question(case, target, where, distance, weights)
    if len(question.targets) != 1:
        raise InputError("program: name the target class; with several there is a program for each")
    subject = case.subject
    requirement = requirement_for(case, question.targets[0])
    problem = Problem(subject.space, subject.ensemble, requirement, question.cost, question.domain)
    return encode(problem, encoding)[0]


def _question(
    case: Case, target: object, where: Where, distance: Distance, weights: Mapping[str, float] | None
) -> _Question:
    subject = case.subject
    conditions = parse(where, subject.features)
    domain = domain_of(subject.space, subject.features, case.point)
    for condition in conditions:
        domain = restrict(domain, subject.space, subject.features, case.point, condition)
    cost = subject.pricer.cost(case.point, domain, distance, weights)
    clash = clashing(subject.space, subject.features, case.point, conditions) if domain.empty else []
    return _Question(
        domain, cost, _targets(case, target), tuple(condition.text for condition in conditions), tuple(clash)
    )


def _targets(case: Case, target: object) -> tuple[int, ...]:
    classes = case.subject.reading.classes
    if target is None:
        return tuple(k for k in range(len(classes)) if k != case.decided)
    wanted = plain(target)
    if wanted not in classes or isinstance(wanted, bool) != isinstance(classes[classes.index(wanted)], bool):
        raise InputError(f"target={wanted!r} is no class of the model; the classes are {list(classes)}")
    number = classes.index(wanted)
    if number == case.decided:
        raise InputError(f"target={wanted!r} is what the model decides already; name another class")
    return (number,)


def _other(case: Case, target: int, found: bool) -> object:
    """What the answer says was wanted where the user named no class."""
    classes = case.subject.reading.classes
    if found or len(classes) == 2:
        return classes[target]
    return f"anything but {case.decision}"


def _reason(case: Case, question: _Question, wanted: object) -> str:
    if len(case.subject.reading.classes) < 2:
        return "the model knows one class only, so no decision can flip"
    if question.clash:
        return "these conditions leave no value at all: " + ", ".join(question.clash)
    fixed = [feature.name for feature in case.subject.features if feature.changes != "freely"]
    held = [*question.conditions, *(f"{name} as declared" for name in fixed)]
    if not held:
        return f"the model decides {wanted!r} for no input at all"
    return f"no input that obeys all of this is decided {wanted!r}: " + ", ".join(held)
