"""A question about a case, ready to be asked: the domain, the cost and the classes that will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyflip.answers.case import Case
from polyflip.conditions import Condition, Where, clashing, domain_of, parse, restrict
from polyflip.core import Cost, Domain
from polyflip.distances import Distance
from polyflip.errors import InputError
from polyflip.frames import plain

__all__ = ["Question", "domain_under", "question_of", "targets_of"]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about a case: which classes will do, in what domain, at what cost.

    ``clash`` are the conditions that leave a feature no value at all.
    """

    case: Case
    targets: tuple[int, ...]
    conditions: tuple[Condition, ...]
    distance: Distance
    weights: Mapping[str, float] | None
    domain: Domain
    cost: Cost
    clash: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The conditions as the user wrote them, each once."""
        return tuple(dict.fromkeys(condition.text for condition in self.conditions))

    @property
    def measure(self) -> str:
        """The distance in words."""
        if isinstance(self.distance, str):
            return self.distance
        return " + ".join(f"{share:g} {name}" for name, share in self.distance.items())


def question_of(
    case: Case, target: object, where: Where, distance: Distance, weights: Mapping[str, float] | None
) -> Question:
    """Read what the user asks about a case."""
    subject = case.subject
    conditions = parse(where, subject.features)
    domain = domain_under(case, conditions)
    cost = subject.pricer.cost(case.point, domain, distance, weights)
    clash = clashing(subject.space, subject.features, case.point, conditions) if domain.empty else []
    targets = targets_of(case, target)
    return Question(case, targets, conditions, distance, weights, domain, cost, tuple(clash))


def domain_under(case: Case, conditions: Sequence[Condition]) -> Domain:
    """The domain that declarations and conditions leave."""
    subject = case.subject
    domain = domain_of(subject.space, subject.features, case.point)
    for condition in conditions:
        domain = restrict(domain, subject.space, subject.features, case.point, condition)
    return domain


def targets_of(case: Case, target: object) -> tuple[int, ...]:
    """The classes that will do: the one that is named, or all but the decided one."""
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
