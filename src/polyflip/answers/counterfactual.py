"""Counterfactuals: the least change that flips a decision, under the user's conditions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyflip.answers import words
from polyflip.answers.case import Case
from polyflip.answers.flip import cheapest_flip, requirement_for
from polyflip.answers.region import Change, Interval, Values, changes_between, region_of
from polyflip.conditions import Condition, Where, clashing, domain_of, parse, restrict
from polyflip.core import Cost, Domain, Problem, Status
from polyflip.distances import Distance
from polyflip.errors import InputError
from polyflip.frames import Row, plain, to_frame
from polyflip.solvers import Solver
from polyflip.solvers.ilp import Program, encode

__all__ = ["Counterfactual", "counterfactual", "program_of"]

MOST_TO_DROP = 12  # conditions that are tried one by one when nothing obeys them all
SECONDS_TO_DROP = 5.0


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The least change that flips a decision, or the proof that there is none.

    ``target`` is the class that was reached or asked for; None where any other would have done.
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
    parsed: tuple[Condition, ...]
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
    known = solution.cells is not None or len(question.targets) == 1
    wanted = reading.classes[flip.target] if known else None
    infeasible = solution.status is Status.INFEASIBLE
    reason = _reason(case, question, _flipped(case, wanted), solver) if infeasible else ""
    found = solution.cells is not None and flip.values is not None
    return Counterfactual(
        status=solution.status,
        decision=case.decision,
        target=wanted,
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
        notes=(
            *flip.notes,
            *question.cost.notes,
            *case.dissent(case.row.values, "row"),
            *case.dissent(flip.columns, "point"),
        ),
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
    domain = _restricted(case, conditions)
    cost = subject.pricer.cost(case.point, domain, distance, weights)
    clash = clashing(subject.space, subject.features, case.point, conditions) if domain.empty else []
    words = tuple(dict.fromkeys(condition.text for condition in conditions))
    return _Question(domain, cost, _targets(case, target), conditions, words, tuple(clash))


def _targets(case: Case, target: object) -> tuple[int, ...]:
    classes = case.subject.reading.classes
    if target is None:
        return tuple(k for k in range(len(classes)) if k != case.decided)
    wanted = plain(target)
    if isinstance(wanted, (np.ndarray, list, tuple)):
        raise InputError(f"target={wanted!r}: name one class; the classes are {list(classes)}")
    same = [k for k, label in enumerate(classes) if type(wanted) in _kinds(label) and bool(label == wanted)]
    if not same:
        raise InputError(f"target={wanted!r} is no class of the model; the classes are {list(classes)}")
    if same[0] == case.decided:
        raise InputError(f"target={wanted!r} is what is decided already; name another class")
    return (same[0],)


def _kinds(label: object) -> tuple[type, ...]:
    """The types in which a class may be named: 1.0 names the class 1, but True does not."""
    return (int, float) if type(label) in (int, float) else (type(label),)


def _flipped(case: Case, wanted: object) -> str:
    """What no point is, as the vote in force counts: a tie may well be decided for the target."""
    if case.subject.reading.outright:
        party = f"a class other than {case.decision!r}" if wanted is None else repr(wanted)
        return f"has more than half of the votes for {party}"
    return "is decided " + (f"anything but {case.decision!r}" if wanted is None else repr(wanted))


def _reason(case: Case, question: _Question, flipped: str, solver: Solver) -> str:
    """Why there is none: the conditions and declarations that are each needed for it."""
    if len(case.subject.reading.classes) < 2:
        return "the model knows one class only, so no decision can flip"
    if question.clash:
        return "these conditions leave no value at all: " + ", ".join(question.clash)
    kept = list(question.parsed)
    for condition in question.parsed if len(kept) <= MOST_TO_DROP else ():
        fewer = [each for each in kept if each is not condition]
        domain = _restricted(case, fewer)
        nothing = Cost.free(case.subject.space.sizes)
        flip = cheapest_flip(case, question.targets, domain, nothing, solver, SECONDS_TO_DROP)
        if flip.solution.status is Status.INFEASIBLE:
            kept = fewer
    declared = [f.name for f in case.subject.features if f.changes != "freely" or f.bounded]
    held = [
        *dict.fromkeys(condition.text for condition in kept),
        *(f"{name} as declared" for name in declared),
    ]
    if not held:
        return f"no legal input at all {flipped}"
    return f"no input that obeys all of this {flipped}: " + ", ".join(held)


def _restricted(case: Case, conditions: Sequence[Condition]) -> Domain:
    """The domain that declarations and conditions leave."""
    subject = case.subject
    domain = domain_of(subject.space, subject.features, case.point)
    for condition in conditions:
        domain = restrict(domain, subject.space, subject.features, case.point, condition)
    return domain
