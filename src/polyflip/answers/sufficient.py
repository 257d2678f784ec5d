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
from time import perf_counter

import numpy as np

from polyflip.answers import words
from polyflip.answers.case import Case, label_at
from polyflip.answers.flip import refuse_contradiction
from polyflip.answers.sufficiency import SufficiencySearch
from polyflip.conditions import Where
from polyflip.core import Cost, Problem, Requirement, Status
from polyflip.core.space import Floats
from polyflip.errors import InputError, SolverError
from polyflip.frames import plain
from polyflip.solvers import Solver
from polyflip.solvers.ilp.program import Expression, Program

__all__ = ["METHODS", "PrimeImplicant", "prime_implicant"]

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
    given: tuple[str, ...]
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
            "given": list(self.given),
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
    search = _PrimeImplicants(case, where, weights, solver, time_limit)
    return {"minimum": search.minimum, "minimal": search.minimal, "flip": search.flip}[method]()


class _PrimeImplicants(SufficiencySearch):
    """The three methods, on top of the question whether a set suffices."""

    def minimal(self) -> PrimeImplicant:
        """A set from which nothing can be dropped."""
        kept, known = self._deleted()
        status = Status.OPTIMAL if known else Status.FEASIBLE
        return self._answer("minimal", kept, status, True, self.weight(self.must))

    def minimum(self) -> PrimeImplicant:
        """The set of least weight.

        Every counterexample is a set of features of which at least one must be held.  The lightest
        set that hits all of them either suffices, and is then the lightest that does, or yields the
        next counterexample.
        """
        best, _ = self._deleted()
        bound = self.weight(self.must)
        while not self.late():
            candidate, least = self._hitting_set()
            bound = max(bound, least)
            if candidate is None:
                break
            if bound >= self.weight(best) - Cost.room(bound) and len(candidate) >= len(best):
                return self._answer("minimum", best, Status.OPTIMAL, True, self.weight(best))
            verdict = self.suffices(candidate)
            if verdict.sufficient:
                return self._answer("minimum", candidate, Status.OPTIMAL, True, self.weight(candidate))
            if verdict.sufficient is None:
                break
        return self._answer("minimum", best, Status.FEASIBLE, True, min(bound, self.weight(best)))

    def flip(self) -> PrimeImplicant:
        """The paper's program: change as many features as possible at once, the decision staying."""
        case, subject = self.case, self.case.subject
        domain = self.domain
        for j in self.must:
            domain = domain.pin(j, subject.space.axes[j], int(case.point.cells[j]))
        free = [j for j in range(len(subject.features)) if domain.allowed[j].sum() > 1]
        requirement = Requirement.wins(case.decided, len(subject.reading.classes))
        cost = self._held_cost(free)
        problem = Problem(subject.space, subject.ensemble, requirement, cost, domain, subject.hints)
        for _ in range(MOST_TIES):
            solution = self.solver.cheapest(problem, self.left())
            if solution.cells is None:
                nothing = "out of time" if solution.status is Status.UNKNOWN else "the row itself is a tie"
                return self._answer("flip", set(), solution.status, None, 0.0, (nothing,))
            if self.decided_at(solution.cells) == case.decided:
                break
            refuse_contradiction(case, solution.cells, requirement)
            problem = problem.without([subject.ensemble.leaf_box(subject.space, solution.cells)])
        else:
            raise SolverError("the model's rounding decided too many ties; try method='minimal'")
        held = {j for j in free if solution.cells[j] == case.point.cells[j]} | self.must
        self.last = self.suffices(held)
        bound = solution.bound + self.weight(self.must)
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
            if self.late():
                return kept, False
            verdict = self.suffices(kept - {j})
            if verdict.sufficient:
                kept.discard(j)
            known &= verdict.sufficient is not None
        return kept, known

    def _hitting_set(self) -> tuple[set[int] | None, float]:
        """The lightest set that holds something of every counterexample, and a bound on its weight.

        Among the lightest the one of fewest and earliest features.  None where time ran out.
        """
        program = Program("hitting set")
        count, unit = len(self.weights), float(self.weights.max()) or 1.0
        hold = [
            Expression(0.0, {program.column(f"hold {name}", integer=True, lower=float(j in self.must)): 1.0})
            for j, name in enumerate(self.case.subject.space.names)
        ]
        for i, row in enumerate(self._one_feature_rows()):
            program.row(f"class {i}", "hit", _sum(hold, row), lower=1.0)
        for i, changed in enumerate(self.met):
            program.row(f"counterexample {i}", "hit", Expression.total([hold[j] for j in changed]), lower=1.0)
        weight = _sum(hold, self.weights / unit)
        program.minimise(weight)
        first = program.solve(self.left())
        if first.values is None or first.status != "optimal":
            return None, max(0.0, first.bound) * unit
        lightest = {j for j in range(count) if first.values[j] > 0.5}
        program.row("no heavier", "weight", weight, upper=(self.weight(lightest) / unit) * (1 + 1e-9))
        program.minimise(_sum(hold, 1.0 + np.arange(count) / count**2))
        second = program.solve(self.left())
        if second.values is not None:
            fewest = {j for j in range(count) if second.values[j] > 0.5}
            if self.weight(fewest) <= self.weight(lightest) * (1 + 1e-9):
                return fewest, self.weight(lightest)
        return lightest, self.weight(lightest)

    def _one_feature_rows(self) -> list[Floats]:
        """Per other class a row that every sufficient set meets: what it holds covers the lead.

        The free features may lose all they can at once, so what is held must make up for the rest:
        ``sum of held losses >= all losses - lead``, scaled to one (with room for rounding).
        """
        losses, case = self.losses, self.case
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
            weight=self.weight(held),
            bound=bound,
            decision=case.decision,
            conditions=tuple(dict.fromkeys(condition.text for condition in self.conditions)),
            given=self.given,
            vote=case.subject.reading.vote,
            solver=self.solver.name,
            seconds=perf_counter() - self.started,
            notes=(
                *notes,
                *case.dissent(case.row.values, "row"),
                *case.dissent(counterexample, "counterexample"),
            ),
            counterexample=counterexample,
        )


def _sum(columns: Sequence[Expression], weights: Floats) -> Expression:
    """A weighted sum of columns."""
    total = Expression()
    for column, weight in zip(columns, weights.tolist(), strict=True):
        total = total.plus(column, weight)
    return total
