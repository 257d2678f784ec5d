"""Certificates: an answer with its proof, to be saved, passed on, and checked by somebody else.

A certificate holds the question in the user's words, the point that answers it, and for every class
that would have done the proof that no point of it costs less.  It does not hold the model: whoever
checks it has the model, and reads the trees from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from polyflip.answers.flip import Flip, problem_of
from polyflip.answers.question import Question
from polyflip.conditions import Condition
from polyflip.core import Proof
from polyflip.core.space import Floats, Ints
from polyflip.distances import Distance
from polyflip.errors import CertificateError
from polyflip.features import Feature
from polyflip.frames import plain
from polyflip.solvers.search import SearchSolver

__all__ = ["Certificate", "Evidence", "Part", "certificate_of"]

FORMAT = 1
LARGEST = 2**32  # bytes that a certificate may unpack to
INTS = ("kind", "feature", "cut", "scale", "slots", "slot_tree", "slot_feature", "pieces", "piece_cell")

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a certificate is made of: the question, and what the solver said."""

    question: Question
    flip: Flip


@dataclass(frozen=True, eq=False)
class Part:
    """One class that would have done: the ties that the model decides otherwise, and the proof."""

    target: int
    passed: Ints
    proof: Proof


@dataclass(frozen=True, eq=False)
class Certificate:
    """An answer and its proof.

    ``point`` is None and ``cost`` infinite where it is proved that there is none.  ``prices`` holds a
    price per feature and cell, as the distance gave them.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from polyflip import Explainer, check
    >>> model = DecisionTreeClassifier(random_state=0).fit([[20, 0], [30, 1], [40, 0]], [0, 0, 1])
    >>> certificate = Explainer(model).counterfactual([30, 1]).certificate
    >>> print(check(certificate, model))
    confirmed: nothing cheaper than 1 (hamming) flips 0 to 1; 1 box
    """

    kind: str
    vote: str
    columns: tuple[str, ...]
    features: tuple[Feature, ...]
    factual: dict[str, object]
    decision: object
    target: object
    conditions: tuple[Condition, ...]
    distance: Distance
    weights: Mapping[str, float] | None
    cost: float
    point: dict[str, object] | None
    prices: tuple[Floats, ...]
    parts: tuple[Part, ...]

    @property
    def boxes(self) -> int:
        """How many boxes the proof has."""
        return sum(part.proof.boxes for part in self.parts)

    def save(self, path: str | Path) -> Path:
        """Write the certificate to a file (a compressed archive of arrays)."""
        arrays: Arrays = {"header": np.frombuffer(self._header().encode(), dtype=np.uint8)}
        arrays |= {f"price{j}": price for j, price in enumerate(self.prices)}
        for i, part in enumerate(self.parts):
            arrays |= {f"part{i}.{name}": array for name, array in _packed(part).items()}
        target = Path(path)
        try:
            with target.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
        except OSError as error:
            raise CertificateError(f"{str(target)!r} cannot be written: {error.strerror}") from error
        return target

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate; nothing of it is believed until it is checked."""
        try:
            with ZipFile(path) as archive:
                if sum(each.file_size for each in archive.infolist()) > LARGEST:
                    raise CertificateError(f"{str(path)!r} is too large for a certificate")
            with np.load(path, allow_pickle=False) as file:
                return cls._from(dict(file))
        except OSError as error:
            raise CertificateError(f"{str(path)!r} cannot be read: {error.strerror}") from error
        except CertificateError:
            raise
        except Exception as error:  # a damaged or hostile file fails anywhere inside
            raise CertificateError(f"{str(path)!r} is no certificate: {error}") from error

    def _header(self) -> str:
        header = {
            name: getattr(self, name)
            for name in ("kind", "vote", "columns", "decision", "target", "distance", "weights", "cost")
        }
        return json.dumps(
            {
                "format": FORMAT,
                **header,
                "factual": {name: plain(value) for name, value in self.factual.items()},
                "point": self.point and {name: plain(value) for name, value in self.point.items()},
                "features": [asdict(feature) for feature in self.features],
                "conditions": [(c.feature, c.op, list(c.values), c.text) for c in self.conditions],
                "parts": [[part.target, part.proof.unit, part.proof.whole] for part in self.parts],
            }
        )

    @classmethod
    def _from(cls, arrays: Arrays) -> Certificate:
        header = json.loads(arrays.pop("header").tobytes())
        if header.pop("format") != FORMAT:
            raise CertificateError("this certificate was written by another version of polyflip")
        features = tuple(
            Feature(**{**each, "codes": tuple(each["codes"])}) for each in header.pop("features")
        )
        conditions = tuple(
            Condition(int(feature), op, tuple(values), text)
            for feature, op, values, text in header.pop("conditions")
        )
        parts = tuple(_unpacked(arrays, f"part{i}.", *about) for i, about in enumerate(header.pop("parts")))
        prices = tuple(arrays[f"price{j}"].astype(np.float64) for j in range(len(features)))
        header["columns"] = tuple(header["columns"])
        return cls(**header, features=features, conditions=conditions, prices=prices, parts=parts)


def _packed(part: Part) -> Arrays:
    """A part as small arrays: most multipliers are single floats, the others are kept apart."""
    proof = part.proof
    short = proof.theta.astype(np.float32)
    long = np.flatnonzero(short != proof.theta)
    arrays: Arrays = {name: getattr(proof, name).astype(np.int32) for name in INTS}
    arrays |= {"passed": part.passed, "lam": proof.lam}
    return arrays | {"theta": short, "long": long.astype(np.int32), "long_theta": proof.theta[long]}


def _unpacked(arrays: Arrays, prefix: str, target: int, unit: float, whole: bool) -> Part:
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    for name in (*INTS, "passed", "long"):
        if own[name].dtype.kind != "i":
            raise CertificateError(f"its {name} are no whole numbers")
    theta = own["theta"].astype(np.float64)
    theta[own["long"]] = own["long_theta"]
    proof = Proof(
        unit=float(unit),
        whole=bool(whole),
        lam=own["lam"].astype(np.float64),
        theta=theta,
        **{name: own[name].astype(np.int64) for name in INTS},
    )
    return Part(int(target), own["passed"].astype(np.int64), proof)


def certificate_of(evidence: Evidence) -> Certificate:
    """Prove an answer once more, for every class that would have done, and write the proof down."""
    question, flip = evidence.question, evidence.flip
    case, cost = question.case, flip.solution.cost
    search = SearchSolver()
    parts = []
    for target in question.targets:
        passed = flip.passed.get(target, ())
        problem = problem_of(case, target, question.domain, question.cost, passed)
        cells = np.array(passed, dtype=np.int64).reshape(len(passed), len(case.subject.features))
        parts.append(Part(target, cells, search.prove(problem, cost)))
    classes = case.subject.reading.classes
    return Certificate(
        kind=case.subject.reading.kind,
        vote=case.subject.reading.vote,
        columns=case.subject.columns,
        features=case.subject.features,
        factual=dict(case.row.values),
        decision=plain(case.decision),
        target=plain(classes[question.targets[0]]) if len(question.targets) == 1 else None,
        conditions=question.conditions,
        distance=question.distance,
        weights=question.weights,
        cost=cost,
        point=flip.columns,
        prices=question.cost.price,
        parts=tuple(parts),
    )
