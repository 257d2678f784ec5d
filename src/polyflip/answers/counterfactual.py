"""Counterfactuals: the least change that flips a decision, under the user's conditions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from polyflip.answers import words
from polyflip.answers.case import Case
from polyflip.answers.certificate import Certificate, Evidence, certificate_of
from polyflip.answers.flip import Flip, cheapest_flip, problem_of
from polyflip.answers.progress import Callback, Progress
from polyflip.answers.question import Question, domain_under
from polyflip.answers.region import Change, Interval, Values, changes_between, region_of
from polyflip.core import Cost, Status
from polyflip.errors import InputError, SolverError
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
    ``stopped`` says that it was ended by Ctrl-C, or by a callback.
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
    stopped: bool = False
    _like: Row = field(default_factory=lambda: Row({}), repr=False)
    _evidence: Evidence | None = field(default=None, repr=False)

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

    @cached_property
    def certificate(self) -> Certificate:
        """The proof of this answer: it can be saved, and checked by others with the model alone.

        It is made when it is first asked for, by searching once more from what is known.
        """
        if self.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            raise SolverError(f"this answer is {self.status}: only what is proved has a certificate")
        if self._evidence is None:
            raise SolverError("this answer was pickled without its certificate: ask for it before pickling")
        return certificate_of(self._evidence)

    def __getstate__(self) -> dict[str, Any]:
        """All but what a certificate would be made of: the model and its data stay behind."""
        return {**self.__dict__, "_evidence": None}

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


def counterfactual(
    question: Question, solver: Solver, time_limit: float | None, callback: Callback | None = None
) -> Counterfactual:
    """Ask for the cheapest flip and read it back."""
    case, targets = question.case, question.targets
    progress = None if callback is None else Progress(case, question.domain, len(targets), callback)
    flip = cheapest_flip(case, targets, question.domain, question.cost, solver, time_limit, progress)
    solution, reading = flip.solution, case.subject.reading
    known = solution.cells is not None or len(question.targets) == 1
    wanted = reading.classes[flip.target] if known else None
    infeasible = solution.status is Status.INFEASIBLE
    reason = _reason(question, _flipped(case, wanted), solver) if infeasible else ""
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
        conditions=question.words,
        distance=question.measure,
        vote=reading.vote,
        solver=solution.solver,
        seconds=solution.seconds,
        reason=reason,
        notes=(
            *(("stopped before the end, as was wished",) if solution.stopped else ()),
            *_passed(flip),
            *question.cost.notes,
            *case.dissent(case.row.values, "row"),
            *case.dissent(flip.columns, "point"),
        ),
        stopped=solution.stopped,
        _like=case.row,
        _evidence=Evidence(question, flip),
    )


def _passed(flip: Flip) -> tuple[str, ...]:
    ties = sum(len(cells) for cells in flip.passed.values())
    if not ties:
        return ()
    return (f"{ties} cheaper tie(s), which the model's own rounding decides the other way, were passed over",)


def program_of(question: Question, encoding: str) -> Program:
    """The integer program of a question with one target class."""
    if len(question.targets) != 1:
        raise InputError("program: name the target class; with several there is a program for each")
    problem = problem_of(question.case, question.targets[0], question.domain, question.cost)
    return encode(problem, encoding)[0]


def _flipped(case: Case, wanted: object) -> str:
    """What no point is, as the vote in force counts: a tie may well be decided for the target."""
    if case.subject.reading.outright:
        party = f"a class other than {case.decision!r}" if wanted is None else repr(wanted)
        return f"has more than half of the votes for {party}"
    return "is decided " + (f"anything but {case.decision!r}" if wanted is None else repr(wanted))


def _reason(question: Question, flipped: str, solver: Solver) -> str:
    """Why there is none: the conditions and declarations that are each needed for it."""
    case = question.case
    if len(case.subject.reading.classes) < 2:
        return "the model knows one class only, so no decision can flip"
    if question.clash:
        return "these conditions leave no value at all: " + ", ".join(question.clash)
    kept = list(question.conditions)
    for condition in question.conditions if len(kept) <= MOST_TO_DROP else ():
        fewer = [each for each in kept if each is not condition]
        domain = domain_under(case, fewer)
        nothing = Cost.free(case.subject.space.sizes)
        flip = cheapest_flip(case, question.targets, domain, nothing, solver, SECONDS_TO_DROP)
        if flip.solution.stopped:
            break
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
