"""Sufficiency: is holding some features enough for a decision, whatever the others are?

Every answer "no" is a counterexample, and what it changes is remembered: a set of features that
touches none of the changes cannot suffice either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np

from polyflip.answers import words
from polyflip.answers.case import Case
from polyflip.answers.flip import refuse_contradiction
from polyflip.conditions import Where, domain_of, parse, restrict
from polyflip.core import Cost, Domain, Inequality, Problem, Requirement, Status
from polyflip.core.space import Floats, Ints
from polyflip.errors import InputError
from polyflip.frames import plain
from polyflip.solvers import Solver

__all__ = ["Sufficiency", "SufficiencySearch", "suffices"]

MOST_TIES = 100


@dataclass(frozen=True, eq=False)
class Sufficiency:
    """Whether the values of some features are enough: true, false with a counterexample, or None."""

    sufficient: bool | None
    features: tuple[str, ...]
    decision: object
    counterexample: dict[str, object] | None = None
    conditions: tuple[str, ...] = ()
    vote: str = "model"
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether the features are proved to be enough."""
        return self.sufficient is True

    def __str__(self) -> str:
        """The verdict in words."""
        return words.sufficiency(self)

    def _repr_html_(self) -> str:
        return words.sufficiency_html(self)

    def to_json(self, indent: int | None = 2) -> str:
        """The verdict as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_dict(self) -> dict[str, object]:
        """Plain values, fit for JSON."""
        seen = self.counterexample
        return {
            "sufficient": self.sufficient,
            "features": list(self.features),
            "decision": plain(self.decision),
            "conditions": list(self.conditions),
            "vote": self.vote,
            "notes": list(self.notes),
            "counterexample": None if seen is None else {name: plain(value) for name, value in seen.items()},
        }


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a set of features suffices: None where that is not known; a counterexample where not."""

    sufficient: bool | None
    cells: Ints | None = None
    columns: dict[str, object] | None = None


def suffices(
    case: Case, features: Iterable[str], where: Where, solver: Solver, time_limit: float | None
) -> Sufficiency:
    """Whether holding these features keeps the decision, whatever the others are."""
    held = {case.subject.feature(name) for name in features}
    search = SufficiencySearch(case, where, None, solver, time_limit)
    verdict = search.suffices(held | search.must)
    names = tuple(case.subject.features[j].name for j in sorted(held | search.must))
    return Sufficiency(
        verdict.sufficient,
        names,
        case.decision,
        verdict.columns,
        search.given,
        case.subject.reading.vote,
        (*case.dissent(case.row.values, "row"), *case.dissent(verdict.columns, "counterexample")),
    )


class SufficiencySearch:
    """The state of a search: what the free features may be, what must be held, and what was met."""

    def __init__(
        self,
        case: Case,
        where: Where,
        weights: Mapping[str, float] | None,
        solver: Solver,
        time_limit: float | None,
    ) -> None:
        self.started = perf_counter()
        self.case = case
        self.solver = solver
        self.time_limit = time_limit
        subject = case.subject
        self.weights = subject.pricer.weights(weights)
        self.conditions = parse(where, subject.features)
        self.must: set[int] = set()
        domain = domain_of(subject.space, subject.features)
        for condition in self.conditions:
            if condition.op == "unchanged":
                self.must.add(condition.feature)
            else:
                domain = restrict(domain, subject.space, subject.features, case.point, condition)
        self._refuse_outside(domain)
        self.domain = domain
        self.met: list[frozenset[int]] = []  # the changed features of every counterexample so far
        self.last: Verdict | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """What is said of features that are not held: conditions, and declared bounds and values."""
        said = [condition.text for condition in self.conditions if condition.op != "unchanged"]
        said += [f"{f.name} as declared" for f in self.case.subject.features if f.bounded]
        return tuple(dict.fromkeys(said))

    def _refuse_outside(self, domain: Domain) -> None:
        point = self.case.point
        for j, name in enumerate(self.case.subject.space.names):
            if not domain.holds(j, int(point.cells[j]), float(point.values[j])):
                raise InputError(
                    f"{name!r} of the row itself is not among the values that conditions and declarations "
                    "allow, so nothing about the row can be enough"
                )

    def suffices(self, held: set[int]) -> Verdict:
        """Whether no point that agrees on these features is decided otherwise."""
        if any(not (changed & held) for changed in self.met):
            return Verdict(False)
        case, subject = self.case, self.case.subject
        domain = self.domain
        for j in held:
            domain = domain.pin(j, subject.space.axes[j], int(case.point.cells[j]))
        verdict = Verdict(True)
        for other in range(len(subject.reading.classes)):
            if other == case.decided:
                continue
            found = self._beaten_by(other, domain)
            if found.sufficient is False:
                self._learn(found, held)
                return found
            if found.sufficient is None:
                verdict = found
        return verdict

    def _beaten_by(self, other: int, domain: Domain) -> Verdict:
        """Whether another class can win somewhere in a domain: the extreme of their difference."""
        case, subject = self.case, self.case.subject
        weights = np.zeros(len(subject.reading.classes))
        weights[other], weights[case.decided] = 1.0, -1.0
        ensemble = subject.ensemble
        row = Inequality.of(ensemble, weights, 0.0, strict=other > case.decided)
        base = float(ensemble.base @ weights)
        for _ in range(MOST_TIES):
            problem = Problem(
                subject.space,
                ensemble,
                Requirement.none(len(weights)),
                Cost.free(subject.space.sizes),
                domain,
                subject.hints,
            )
            threshold = base + row.threshold - (0.5 / row.scale if row.whole else 2 * row.slack)
            extreme = self.solver.extreme(problem, weights, self.left(), threshold)
            if extreme.status is Status.INFEASIBLE or extreme.bound - base < row.threshold - self._slack(row):
                return Verdict(True)
            if extreme.cells is None or (
                extreme.status is Status.FEASIBLE and not self._meets(row, extreme.cells)
            ):
                return Verdict(None)
            if self._meets(row, extreme.cells):
                columns = case.columns_at(case.values_at(extreme.cells, domain))
                if self.decided_at(extreme.cells) != case.decided:
                    return Verdict(False, extreme.cells, columns)
                refuse_contradiction(case, extreme.cells, Requirement.wins(other, len(weights)))
            ensemble = ensemble.forbidding([subject.ensemble.leaf_box(subject.space, extreme.cells)])
        return Verdict(None)

    @staticmethod
    def _slack(row: Inequality) -> float:
        """What a general solver's bound may miss: nothing that whole numbers could not tell apart."""
        return 1e-6 / row.scale if row.whole else row.slack

    def _meets(self, row: Inequality, cells: Ints) -> bool:
        # penalty trees stand behind the model's own, whose leaves keep their numbers
        return bool(row.met(self.case.subject.ensemble.reached(cells[None]))[0])

    def _learn(self, found: Verdict, held: set[int]) -> None:
        """Keep which features a counterexample changes, after taking back every change it does not need."""
        assert found.cells is not None
        self.last = found
        own, cells = self.case.point.cells, found.cells.copy()
        changed = [j for j in range(len(cells)) if cells[j] != own[j] and j not in held]
        for j in sorted(changed, key=lambda j: self.weights[j]):
            trial = cells.copy()
            trial[j] = own[j]
            if self._score_decides(trial) != self.case.decided:
                cells = trial
        if self.decided_at(cells) == self.case.decided:  # a tie that the model's rounding decides otherwise
            cells = found.cells
        self.met.append(frozenset(np.flatnonzero(cells != own).tolist()))

    def _score_decides(self, cells: Ints) -> int:
        return int(np.argmax(self.case.subject.ensemble.scores(cells[None])[0]))

    def decided_at(self, cells: Ints) -> int:
        """The model's own decision at the values that are shown for cells."""
        return self.case.decided_at(cells, self.domain)

    @cached_property
    def losses(self) -> Floats | None:
        """Where every tree asks one feature only (naive Bayes): what freeing each feature can lose.

        A row per other class and a column per feature: the most by which the other class can gain on
        the decision; None where some tree asks several features.
        """
        case, ensemble = self.case, self.case.subject.ensemble
        asked: list[set[int]] = [
            {
                int(ensemble.rules.feature[ensemble.rule[n]])
                for n in ensemble.nodes_of(t)
                if ensemble.rule[n] >= 0
            }
            for t in range(ensemble.trees)
        ]
        if any(len(each) > 1 for each in asked):
            return None
        own = ensemble.scores(case.point.cells[None])[0]
        losses = np.zeros((len(own), len(self.weights)))
        for j in range(len(self.weights)):
            cells = np.flatnonzero(self.domain.allowed[j])
            points = np.repeat(case.point.cells[None], len(cells), axis=0)
            points[:, j] = cells
            gains = ensemble.scores(points) - own
            losses[:, j] = (gains - gains[:, [case.decided]]).max(axis=0)
        return losses

    def weight(self, held: Iterable[int]) -> float:
        """The weight of a set of features."""
        return float(sum(self.weights[j] for j in sorted(held)))

    def left(self) -> float | None:
        """The seconds that are left."""
        return None if self.time_limit is None else self.time_limit - (perf_counter() - self.started)

    def late(self) -> bool:
        """Whether no time is left."""
        left = self.left()
        return left is not None and left <= 0
