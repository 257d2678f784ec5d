"""Prime implicants: the least that is enough for a decision to stand, whatever the rest is.

``minimum`` is sound and of least weight (implicit hitting sets), ``minimal`` is sound and nothing
can be dropped (deletion), ``flip`` is the paper's program: the largest set of features that can all
change at once.  What remains then is not always enough (see the paper's votes), so its answer says
whether it was verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter

import numpy as np

from polyflip.answers import words
from polyflip.answers.case import Case, label_at
from polyflip.conditions import Where, domain_of, parse, restrict
from polyflip.core import Cost, Domain, Inequality, Problem, Requirement, Status
from polyflip.core.space import Floats, Ints
from polyflip.errors import InputError, SolverError
from polyflip.frames import plain
from polyflip.solvers import Solver
from polyflip.solvers.ilp.program import Expression, Program

__all__ = ["METHODS", "PrimeImplicant", "Sufficiency", "prime_implicant", "suffices"]

METHODS = ("minimum", "minimal", "flip")
MOST_TIES = 100


@dataclass(frozen=True, eq=False)
class PrimeImplicant:
    """Features whose values are enough for the decision to stand.

    ``sufficient`` is true (proved), false (a counterexample is known) or None (not verified in time).
    ``status`` is ``optimal`` where the method reached its own aim: least weight, nothing to drop, or
    the largest simultaneous change.
    """

    features: tuple[str, ...]
    values: dict[str, object]
    status: Status
    sufficient: bool | None
    method: str
    weight: float
    bound: float
    decision: object
    conditions: tuple[str, ...]
    vote: str
    solver: str
    seconds: float
    notes: tuple[str, ...] = ()
    counterexample: dict[str, object] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """The number of features."""
        return len(self.features)

    def to_dict(self) -> dict[str, object]:
        """Plain values, fit for JSON."""
        seen = self.counterexample
        return {
            "features": list(self.features),
            "values": {name: plain(value) for name, value in self.values.items()},
            "status": str(self.status),
            "sufficient": self.sufficient,
            "method": self.method,
            "weight": self.weight,
            "bound": self.bound,
            "decision": plain(self.decision),
            "conditions": list(self.conditions),
            "vote": self.vote,
            "solver": self.solver,
            "seconds": round(self.seconds, 6),
            "notes": list(self.notes),
            "counterexample": None if seen is None else {name: plain(value) for name, value in seen.items()},
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        """The answer as a sentence."""
        return words.prime_implicant(self)

    def _repr_html_(self) -> str:
        return words.prime_implicant_html(self)


@dataclass(frozen=True, eq=False)
class _Verdict:
    """Whether a set of features suffices: None where that is not known; a counterexample where not."""

    sufficient: bool | None
    cells: Ints | None = None
    columns: dict[str, object] | None = None


@dataclass(frozen=True, eq=False)
class Sufficiency:
    """Whether the values of some features are enough: true, false with a counterexample, or None."""

    sufficient: bool | None
    features: tuple[str, ...]
    decision: object
    counterexample: dict[str, object] | None = None

    def __bool__(self) -> bool:
        """Whether the features are proved to be enough."""
        return self.sufficient is True

    def __str__(self) -> str:
        """The verdict in words."""
        held = " and ".join(self.features) or "nothing"
        verdict = {True: "is enough", False: "is not enough", None: "may or may not be enough (out of time)"}
        return f"holding {held} {verdict[self.sufficient]} for {self.decision}"


def suffices(
    case: Case, features: Iterable[str], where: Where, solver: Solver, time_limit: float | None
) -> Sufficiency:
    """Whether holding these features keeps the decision, whatever the others are."""
    held = {case.subject.feature(name) for name in features}
    search = _Search(case, where, None, solver, time_limit)
    verdict = search.suffices(held | search.must)
    names = tuple(case.subject.features[j].name for j in sorted(held | search.must))
    return Sufficiency(verdict.sufficient, names, case.decision, verdict.columns)


def prime_implicant(
    case: Case,
    where: Where,
    method: str,
    weights: Mapping[str, float] | None,
    solver: Solver,
    time_limit: float | None,
) -> PrimeImplicant:
    """Find a set of features that suffices, by one of the three methods."""
    if method not in METHODS:
        raise InputError(f"method={method!r} is not known; choose from {', '.join(METHODS)}")
    search = _Search(case, where, weights, solver, time_limit)
    return {"minimum": search.minimum, "minimal": search.minimal, "flip": search.flip}[method]()


class _Search:
    """The state of one search: the domain of the free features, what must be in the set, what was met."""

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
                self._refuse_outside(domain, condition.feature, condition.text)
        self.domain = domain
        self.met: list[frozenset[int]] = []  # the changed features of every counterexample so far
        self.last: _Verdict | None = None

    def _refuse_outside(self, domain: Domain, j: int, text: str) -> None:
        cell, value = int(self.case.point.cells[j]), float(self.case.point.values[j])
        if not domain.holds(j, cell, value):
            raise InputError(f"where: the row itself does not obey {text!r}, so nothing about it can suffice")

    def minimal(self) -> PrimeImplicant:
        """A set from which nothing can be dropped."""
        kept, known = self._deleted()
        status = Status.OPTIMAL if known else Status.FEASIBLE
        return self._answer("minimal", kept, status, True, self._weight(self.must))

    def minimum(self) -> PrimeImplicant:
        """The set of least weight.

        Every counterexample is a set of features of which at least one must be held.  The lightest
        set that hits all of them either suffices, and is then the lightest that does, or yields the
        next counterexample.
        """
        best, _ = self._deleted()
        bound = self._weight(self.must)
        while not self._late():
            candidate = self._hitting_set()
            bound = max(bound, self._weight(candidate))
            if bound >= self._weight(best) - Cost.room(bound) and len(candidate) >= len(best):
                return self._answer("minimum", best, Status.OPTIMAL, True, self._weight(best))
            verdict = self.suffices(candidate)
            if verdict.sufficient:
                return self._answer("minimum", candidate, Status.OPTIMAL, True, self._weight(candidate))
            if verdict.sufficient is None:
                break
        return self._answer("minimum", best, Status.FEASIBLE, True, min(bound, self._weight(best)))

    def flip(self) -> PrimeImplicant:
        """The paper's program: change as many features as possible at once, the decision staying."""
        case, subject = self.case, self.case.subject
        domain = self.domain
        for j in self.must:
            domain = domain.pin(j, subject.space.axes[j], int(case.point.cells[j]))
        free = [j for j in range(len(subject.features)) if domain.allowed[j].sum() > 1]
        requirement = Requirement.wins(case.decided, len(subject.reading.classes))
        problem = Problem(subject.space, subject.ensemble, requirement, self._held_cost(free), domain)
        for _ in range(MOST_TIES):
            solution = self.solver.cheapest(problem, self._left())
            if solution.cells is None:
                nothing = "out of time" if solution.status is Status.UNKNOWN else "the row itself is a tie"
                return self._answer("flip", set(), solution.status, None, 0.0, (nothing,))
            if self._decided(solution.cells) == case.decided:
                break
            box = subject.ensemble.box_of(subject.space, solution.cells)
            problem = problem.without([{j: mask for j, mask in enumerate(box) if not mask.all()}])
        else:
            raise SolverError("the model's rounding decided too many ties; try method='minimal'")
        held = {j for j in free if solution.cells[j] == case.point.cells[j]} | self.must
        self.last = self.suffices(held)
        bound = solution.bound + self._weight(self.must)
        return self._answer("flip", held, solution.status, self.last.sufficient, bound)

    def _held_cost(self, free: Iterable[int]) -> Cost:
        """The weight of a feature where it keeps its value, nothing where it changes."""
        point, sizes = self.case.point, self.case.subject.space.sizes
        price = [np.zeros(n) for n in sizes]
        for j in free:
            price[j][point.cells[j]] = self.weights[j]
        none = Cost.free(sizes)
        return Cost(tuple(price), none.changed, self._early_first(free))

    def _early_first(self, free: Iterable[int]) -> tuple[Floats, ...]:
        """Among sets of equal weight the one of the earliest features: a late one held costs more."""
        point, sizes = self.case.point, self.case.subject.space.sizes
        order = [np.zeros(n) for n in sizes]
        for j in free:
            order[j][point.cells[j]] = (j + 1) / (len(order) + 1)
        return tuple(order)

    def _deleted(self) -> tuple[set[int], bool]:
        """Drop one feature after the other, heaviest and least used first, while the rest suffices."""
        uses = np.bincount(self.case.subject.ensemble.rules.feature, minlength=len(self.weights))
        order = sorted(range(len(self.weights)), key=lambda j: (-self.weights[j], uses[j], -j))
        kept, known = set(range(len(self.weights))), True
        for j in order:
            if j in self.must:
                continue
            if self._late():
                return kept, False
            verdict = self.suffices(kept - {j})
            if verdict.sufficient:
                kept.discard(j)
            known &= verdict.sufficient is not None
        return kept, known

    def suffices(self, held: set[int]) -> _Verdict:
        """Whether no point that agrees on these features is decided otherwise."""
        if any(not (changed & held) for changed in self.met):
            return _Verdict(False)
        case, subject = self.case, self.case.subject
        domain = self.domain
        for j in held:
            domain = domain.pin(j, subject.space.axes[j], int(case.point.cells[j]))
        verdict = _Verdict(True)
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

    def _beaten_by(self, other: int, domain: Domain) -> _Verdict:
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
            )
            extreme = self.solver.extreme(problem, weights, self._left())
            if extreme.status is Status.INFEASIBLE or extreme.bound - base < row.threshold - self._slack(row):
                return _Verdict(True)
            if extreme.cells is None or (
                extreme.status is Status.FEASIBLE and not self._meets(row, extreme.cells)
            ):
                return _Verdict(None)
            if self._meets(row, extreme.cells):
                columns = case.columns_at(case.values_at(extreme.cells, domain))
                if self._decided(extreme.cells) != case.decided:
                    return _Verdict(False, extreme.cells, columns)
            box = ensemble.box_of(subject.space, extreme.cells)
            ensemble = ensemble.forbidding([{j: mask for j, mask in enumerate(box) if not mask.all()}])
        return _Verdict(None)

    @staticmethod
    def _slack(row: Inequality) -> float:
        """What a general solver's bound may miss: nothing that whole numbers could not tell apart."""
        return 1e-6 / row.scale if row.whole else row.slack

    def _meets(self, row: Inequality, cells: Ints) -> bool:
        # penalty trees stand behind the model's own, whose leaves keep their numbers
        return bool(row.met(self.case.subject.ensemble.reached(cells[None]))[0])

    def _learn(self, found: _Verdict, held: set[int]) -> None:
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
        if self._decided(cells) == self.case.decided:  # a tie that the model's rounding decides otherwise
            cells = found.cells
        self.met.append(frozenset(np.flatnonzero(cells != own).tolist()))

    def _score_decides(self, cells: Ints) -> int:
        return int(np.argmax(self.case.subject.ensemble.scores(cells[None])[0]))

    def _decided(self, cells: Ints) -> int:
        """The model's own decision at the values that are shown for cells."""
        case = self.case
        columns = case.columns_at(case.values_at(cells, self.domain))
        row: Floats = np.array([[float(columns[c]) for c in case.subject.columns]])  # type: ignore[arg-type]
        return int(case.subject.reading.decide(row)[0])

    def _hitting_set(self) -> set[int]:
        """The lightest set that holds something of every counterexample, of few features and early ones."""
        program = Program("hitting set")
        count = len(self.weights)
        columns = [
            program.column(f"hold {name}", integer=True, lower=float(j in self.must))
            for j, name in enumerate(self.case.subject.space.names)
        ]
        for i, row in enumerate(self._one_feature_rows()):
            program.row(
                f"class {i}", "hit", Expression(0.0, dict(zip(columns, row.tolist(), strict=True))), lower=1.0
            )
        for i, changed in enumerate(self.met):
            program.row(
                f"counterexample {i}", "hit", Expression(0.0, {columns[j]: 1.0 for j in changed}), lower=1.0
            )
        positive = self.weights[self.weights > 0]
        unit = float(positive.min()) if len(positive) else 1.0
        least = 1e-4 * unit / (count + 1)
        objective = {
            columns[j]: float(self.weights[j]) + least * (1 + 1e-3 * j / count) for j in range(count)
        }
        program.minimise(Expression(0.0, objective))
        values = program.solve().values
        assert values is not None, "holding every feature hits every counterexample"
        return {j for j in range(count) if values[columns[j]] > 0.5}

    @cached_property
    def _losses(self) -> Floats | None:
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

    def _one_feature_rows(self) -> list[Floats]:
        """Per other class a row that every sufficient set meets: what it holds covers the lead.

        The free features may lose all they can at once, so what is held must make up for the rest:
        ``sum of held losses >= all losses - lead``, scaled to one (with room for rounding).
        """
        losses, case = self._losses, self.case
        if losses is None:
            return []
        own = case.subject.ensemble.scores(case.point.cells[None])[0]
        needs = losses.sum(axis=1) - (own[case.decided] - own)
        room = 1e-9 * max(1.0, float(np.abs(losses).sum()))
        return [
            losses[k] / (need - room)
            for k, need in enumerate(needs)
            if k != case.decided and need > 1e3 * room
        ]

    def _weight(self, held: Iterable[int]) -> float:
        return float(sum(self.weights[j] for j in sorted(held)))

    def _left(self) -> float | None:
        return None if self.time_limit is None else self.time_limit - (perf_counter() - self.started)

    def _late(self) -> bool:
        left = self._left()
        return left is not None and left <= 0

    def _answer(
        self,
        method: str,
        held: set[int],
        status: Status,
        sufficient: bool | None,
        bound: float,
        notes: Sequence[str] = (),
    ) -> PrimeImplicant:
        case = self.case
        features = [case.subject.features[j] for j in sorted(held)]
        values = {
            f.name: label_at(f, float(case.point.values[case.subject.feature(f.name)])) for f in features
        }
        counterexample = self.last.columns if sufficient is False and self.last is not None else None
        return PrimeImplicant(
            features=tuple(feature.name for feature in features),
            values=values,
            status=status,
            sufficient=sufficient,
            method=method,
            weight=self._weight(held),
            bound=bound,
            decision=case.decision,
            conditions=tuple(condition.text for condition in self.conditions),
            vote=case.subject.reading.vote,
            solver=self.solver.name,
            seconds=perf_counter() - self.started,
            notes=tuple(notes),
            counterexample=counterexample,
        )
