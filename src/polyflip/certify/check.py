"""Checking a certificate: the question is put together again from the model, and every claim is confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any, get_args

import numpy as np

from polyflip.answers.case import Case, Subject, point_of
from polyflip.answers.certificate import Certificate, Part
from polyflip.answers.flip import problem_of
from polyflip.answers.question import domain_under, targets_of
from polyflip.certify.checker import RefusedError, confirm
from polyflip.conditions import parse
from polyflip.core import Cost, Domain
from polyflip.core.space import Floats
from polyflip.distances import DISTANCES, NEED_NO_DATA
from polyflip.errors import CertificateError, InputError, PolyflipError
from polyflip.features import Feature, refuse_contradicting
from polyflip.frames import Row, Table, plain, read_table
from polyflip.readers import Reading, Vote, read_model

__all__ = ["Confirmation", "check"]

EQUAL = 1e-9


@dataclass(frozen=True)
class Confirmation:
    """What a check has confirmed; ``notes`` say what it had to take from the certificate."""

    claim: str
    boxes: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The claim, and what it rests on."""
        boxes = f"{self.boxes:,} box" + ("" if self.boxes == 1 else "es")
        return "\n".join([f"confirmed: {self.claim}; {boxes}", *(f"  note: {note}" for note in self.notes)])


def check(certificate: Certificate, model: Any, data: Any = None) -> Confirmation:
    """Confirm a certificate with the model alone, or raise :class:`~polyflip.errors.CertificateError`.

    The trees are read from the model, the conditions and the requirement are worked out anew; the model's
    own predict (or the majority of its trees, where that is the vote) is asked about the row, the point, and
    every tie that was passed over; and the checker, which shares no code with the search, confirms in whole
    numbers that the boxes cover the domain and that each is bounded by the cost.  With ``data``, the table
    the model was trained on, the prices are worked out anew as well.
    """
    if certificate.vote not in get_args(Vote):
        raise CertificateError(f"refused: its vote is {certificate.vote!r}")
    reading = read_model(model, certificate.vote)  # type: ignore[arg-type]
    try:
        return _confirmed(certificate, reading, data)
    except RefusedError as error:
        raise CertificateError(f"refused: {error}") from error
    except Exception as error:  # whatever it holds fits neither model nor data
        raise CertificateError(f"refused: it does not fit this model: {error}") from error


def _confirmed(certificate: Certificate, reading: Reading, data: Any) -> Confirmation:
    case, table = _case(certificate, reading, data)
    _check_words(certificate, case)
    try:
        domain = domain_under(case, certificate.conditions)
        targets = targets_of(case, certificate.target)
    except (PolyflipError, IndexError) as error:
        raise RefusedError(f"the question does not fit this model: {error}") from error
    if [part.target for part in certificate.parts] != list(targets):
        raise RefusedError("there is not one proof for every class that would do")
    cost, notes = _cost(certificate, case, domain, table)
    for part in certificate.parts:
        _check_passed(case, part, domain)
        confirm(problem_of(case, part.target, domain, cost, list(part.passed)), certificate.cost, part.proof)
    if certificate.point is None:
        if certificate.cost < np.inf:
            raise RefusedError(f"there is no point, but a cost of {certificate.cost:g}")
        claim = "nothing that obeys the conditions"
    else:
        _check_point(certificate, case, domain, cost)
        measure = certificate.distance if isinstance(certificate.distance, str) else "a sum of distances"
        claim = f"nothing cheaper than {certificate.cost:.6g} ({measure})"
    claim += f" flips {certificate.decision!r}"
    if certificate.target is not None:
        claim += f" to {certificate.target!r}"
    if certificate.vote == "majority":
        claim += " (majority vote)"
    if certificate.conditions:
        claim += ", under: " + ", ".join(dict.fromkeys(c.text for c in certificate.conditions))
    kinds = () if table is not None else _kinds(certificate)
    dissent = (*case.dissent(certificate.factual, "row"), *case.dissent(certificate.point, "point"))
    return Confirmation(claim, certificate.boxes, (*dissent, *_declared(certificate), *notes, *kinds))


def _kinds(certificate: Certificate) -> tuple[str, ...]:
    """The kinds that leave out values, which only the data could contradict."""
    narrow = [f"{each.name} {each.kind}" for each in certificate.features if each.kind != "numeric"]
    return (f"kinds are the certificate's own: {', '.join(narrow)}",) if narrow else ()


def _declared(certificate: Certificate) -> tuple[str, ...]:
    """What the claim rests on besides its conditions: declarations and weights."""
    bounded = [each for each in certificate.features if each.changes != "freely" or each.bounded]
    notes = [f"declared: {'; '.join(_declaration(each) for each in bounded)}"] if bounded else []
    weights = {each.name: each.weight for each in certificate.features if each.weight != 1.0}
    weights |= dict(certificate.weights or {})
    if weights:
        notes.append("weights: " + ", ".join(f"{name} {weight:g}" for name, weight in weights.items()))
    return tuple(notes)


def _declaration(feature: Feature) -> str:
    said = [] if feature.changes == "freely" else [f"changes {feature.changes}"]
    if np.isfinite(feature.lower) or np.isfinite(feature.upper):
        said.append(f"from {feature.lower:g} to {feature.upper:g}")
    if feature.values is not None:
        said.append(f"one of {list(feature.values)}")
    return f"{feature.name} {', '.join(said)}"


def _check_words(certificate: Certificate, case: Case) -> None:
    """The claim repeats the words of conditions and features, so these must mean what was proved."""
    for feature in case.subject.features:
        own = (feature.name,) == tuple(feature.columns)
        if not own and (feature.kind != "one-hot" or feature.name in certificate.columns):
            raise RefusedError(f"feature {feature.name!r} is not called what its column is called")
    stated = [(each.feature, each.op, each.values) for each in certificate.conditions]
    try:
        texts = list(dict.fromkeys(each.text for each in certificate.conditions))
        meant = [(each.feature, each.op, each.values) for each in parse(texts, case.subject.features)]
    except PolyflipError as error:
        raise RefusedError(f"a condition cannot be read: {error}") from error
    if {repr(each) for each in stated} != {repr(each) for each in meant}:
        raise RefusedError("a condition does not say what was proved")


def _case(certificate: Certificate, reading: Reading, data: Any) -> tuple[Case, Table | None]:
    """The row as this model reads it; refused where it is another model, or decides otherwise."""
    if reading.kind != certificate.kind:
        raise RefusedError(f"the certificate is of a {certificate.kind}, the model is a {reading.kind}")
    if len(certificate.columns) != len(reading.columns) or (
        reading.named and certificate.columns != reading.columns
    ):
        raise RefusedError("the model takes other columns than the certificate names")
    table = None if data is None else _table(certificate, data)
    try:
        subject = Subject.of(reading, certificate.columns, certificate.features, table)
        case = Case.of(subject, Row(certificate.factual))
    except (PolyflipError, KeyError) as error:
        raise RefusedError(f"the row does not fit this model: {error}") from error
    if plain(case.decision) != certificate.decision:
        raise RefusedError(f"the model decides {case.decision!r} here, not {certificate.decision!r}")
    return case, table


def _table(certificate: Certificate, data: Any) -> Table:
    """The data; refused where it is not of these columns, or contradicts what was declared of them."""
    table = read_table(data, certificate.columns)
    absent = sorted(set(certificate.columns) - set(table.names))
    if absent:
        raise RefusedError(f"the data lacks columns {absent}")
    for column in certificate.columns:
        if table.columns[column].dtype.kind not in "biuf":
            raise RefusedError(f"column {column!r} of the data holds what is no number")
    try:
        for feature in certificate.features:
            refuse_contradicting(feature, table)
    except PolyflipError as error:
        raise RefusedError(f"the data contradicts the certificate: {error}") from error
    return table


def _cost(
    certificate: Certificate, case: Case, domain: Domain, table: Table | None
) -> tuple[Cost, tuple[str, ...]]:
    """The prices, worked out anew where they can be."""
    free = Cost.free(case.subject.space.sizes)
    stated = Cost(certificate.prices, free.changed, free.move)
    sizes = [len(price) for price in certificate.prices]
    if sizes != case.subject.space.sizes.tolist():
        raise RefusedError("the prices do not fit the cells of this model")
    if not all(np.isfinite(price).all() and (price >= 0).all() for price in certificate.prices):
        raise RefusedError("a price is negative, or no number")
    names = [certificate.distance] if isinstance(certificate.distance, str) else list(certificate.distance)
    unknown = [name for name in names if name not in DISTANCES]
    if unknown:
        raise RefusedError(f"{unknown[0]!r} is no distance")
    if table is None and not set(names) <= set(NEED_NO_DATA):
        return stated, ("the prices are the certificate's own; with the data they are worked out anew",)
    try:
        own = case.subject.pricer.cost(case.point, domain, certificate.distance, certificate.weights)
    except InputError as error:
        raise RefusedError(f"the distance does not fit this model: {error}") from error
    if not all(_alike(one, other) for one, other in zip(own.price, certificate.prices, strict=True)):
        raise RefusedError("the prices are not those of the distance")
    return stated, ()


def _alike(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=EQUAL, atol=0.0))


def _check_passed(case: Case, part: Part, domain: Domain) -> None:
    """Every tie that was passed over is one: the model itself does not decide it for the class."""
    sizes = case.subject.space.sizes
    if part.passed.ndim != 2 or part.passed.shape[1] != len(sizes):
        raise RefusedError("the points that were passed over do not fit this model")
    if (part.passed < 0).any() or (part.passed >= sizes).any():
        raise RefusedError("a point was passed over that lies in no cell")
    for cells in part.passed:
        values = case.values_at(cells, domain)
        if case.wins(case.columns_at(values), part.target):
            raise RefusedError("a point was passed over that the model decides for the class")


def _check_point(certificate: Certificate, case: Case, domain: Domain, cost: Cost) -> None:
    """The point is legal, costs what is claimed, and the model decides it for a class that will do."""
    shown = certificate.point or {}
    try:
        point = point_of(case.subject.space, case.subject.features, shown)
    except (PolyflipError, KeyError) as error:
        raise RefusedError(f"the point does not fit this model: {error}") from error
    pairs = list(zip(point.cells.tolist(), point.values.tolist(), strict=True))
    outside = [case.subject.features[j].name for j, pair in enumerate(pairs) if not domain.holds(j, *pair)]
    if outside:
        raise RefusedError(f"the point breaks the conditions, or what was declared, in {', '.join(outside)}")
    price = fsum(float(prices[cell]) for prices, (cell, _) in zip(cost.price, pairs, strict=True))
    if abs(price - certificate.cost) > EQUAL * max(price, certificate.cost):
        raise RefusedError(f"the point costs {price:.9g}, not {certificate.cost:.9g}")
    if not any(case.wins(shown, part.target) for part in certificate.parts):
        raise RefusedError("the model does not decide the point for any class that would do")
