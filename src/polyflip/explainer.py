"""Explainer: the front door.  A model and its data in, answers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from polyflip.answers import (
    Case,
    Counterfactual,
    PrimeImplicant,
    Question,
    Robustness,
    Subject,
    Sufficiency,
    counterfactual,
    prime_implicant,
    program_of,
    question_of,
    robustness,
    suffices,
)
from polyflip.answers.case import matrix_of, point_of
from polyflip.answers.many import answered
from polyflip.answers.progress import Callback
from polyflip.answers.question import targets_of
from polyflip.conditions import Where, parse
from polyflip.core.space import Floats
from polyflip.distances import Distance
from polyflip.errors import InputError
from polyflip.features import Feature, Features, declare, listed
from polyflip.frames import Row, Rows, Table, read_row, read_table
from polyflip.readers import Reading, Vote, read_model
from polyflip.solvers import Guided, Solver, solver_named
from polyflip.solvers.ilp import Program

__all__ = ["Explainer"]

CHUNK = 1000  # rows that the model decides at once


class Explainer:
    """Explains the decisions of one model, exactly.

    ``data`` is the table the model was trained on (pandas, polars, an array, or a mapping of
    columns): it tells what the features are and how far values usually lie apart.  Without it
    everything works with the distances that need none.  ``features`` overrides what is inferred.
    ``vote`` is ``"model"`` (what the model's own predict does) or ``"majority"`` (the paper's: every
    tree one vote).  Under the majority vote the class of most votes is what is decided for a row, of
    a tie the lowest class; a counterfactual needs more than half of all trees for one class, so that
    neither a tie nor, with three classes or more, most votes without a majority are enough.  The
    model's own predict may then say something else; the answer's notes say where it does.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = {"age": [20, 30, 40, 50], "sex": [0, 1, 0, 1]}
    >>> rows = [[20, 0], [30, 1], [40, 0], [50, 1]]
    >>> model = DecisionTreeClassifier(random_state=0).fit(rows, [0, 0, 1, 1])
    >>> print(Explainer(model, data).counterfactual({"age": 30, "sex": 1}))
    0 -> 1 by 1 change, cost 0.536656 (l1-std), optimal (proved)
      age: 30 -> 36 (> 35)
    """

    def __init__(
        self, model: Any, data: Any = None, features: Features | None = None, vote: Vote = "model"
    ) -> None:
        self._reading = read_model(model, vote)
        self._table, self._columns = _columns(self._reading, data)
        known = {self._columns[i]: feature for i, feature in self._reading.known.items()}
        usual = {self._columns[i]: feature for i, feature in self._reading.usual.items()}
        self._features = declare(self._columns, self._table, features, known, usual)
        declared = {f.name for f in listed(features)}
        self._assumed = set() if self._table is not None else set(usual) - declared
        self._subjects: dict[tuple[frozenset[str], frozenset[str]], Subject] = {}
        self._subject(frozenset())

    @property
    def features(self) -> tuple[Feature, ...]:
        """What each feature is, as declared or inferred."""
        return self._features

    @property
    def classes(self) -> tuple[object, ...]:
        """The model's classes."""
        return self._reading.classes

    @property
    def columns(self) -> tuple[str, ...]:
        """The model's columns."""
        return self._columns

    @property
    def cells(self) -> int:
        """How many combinations of cells the model tells apart at most."""
        return self._subject(frozenset()).space.count

    def __repr__(self) -> str:
        """The model, its size and the vote in force."""
        subject = self._subject(frozenset())
        return (
            f"Explainer({self._reading.kind}, {subject.ensemble.trees} trees, "
            f"{subject.ensemble.leaves} leaves, {len(self._features)} features, vote={self._reading.vote!r})"
        )

    def decision(self, x: Any) -> object:
        """What is decided for a row, by the vote in force."""
        return self._case(x).decision

    def counterfactual(
        self,
        x: Any,
        target: object = None,
        where: Where = None,
        distance: Distance | None = None,
        weights: Mapping[str, float] | None = None,
        solver: str | Solver = "auto",
        encoding: str | None = None,
        time_limit: float | None = None,
        gap: float = 0.0,
        callback: Callback | None = None,
    ) -> Counterfactual:
        """The least change that flips the decision for ``x``, proved.

        ``where`` holds the user's conditions (the paper's diverse counterfactual), in words or as a
        mapping.  ``target`` is a class; without it any other class will do.  ``distance`` is
        ``"l1-std"`` where there is data and ``"hamming"`` where there is none.  ``encoding`` asks for
        an integer program, ``"tight"`` or ``"paper"``: with ``solver="ilp"`` (``"tight"`` where none is
        named), or with ``"auto"``, for which it then decides.

        After ``time_limit`` seconds, on Ctrl-C, or once nothing cheaper than ``(1 - gap) * cost`` can
        exist, the answer is the best so far, with its bound.  ``callback(incumbent, bound, elapsed)``
        is told of every better point, and ten times a second; it stops the search by returning True.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[20, 0], [30, 1], [40, 0]], [0, 0, 1])
        >>> Explainer(model).counterfactual([30, 1]).changes[0].must
        '> 35'
        """
        chosen = _guided(solver_named(solver, encoding), gap)
        question = question_of(self._case(x), target, where, self._distance(distance), weights)
        return counterfactual(question, chosen, _limit(time_limit), callback)

    def counterfactuals(
        self,
        X: Any,  # noqa: N803
        target: object = None,
        where: Where = None,
        distance: Distance | None = None,
        weights: Mapping[str, float] | None = None,
        solver: str | Solver = "auto",
        encoding: str | None = None,
        time_limit: float | None = None,
        gap: float = 0.0,
        n_jobs: int = 1,
    ) -> Iterator[Counterfactual]:
        """A counterfactual for every row of a table, in order, as they are found.

        The question is the same for all rows, and the limit of time is each row's own.  ``n_jobs``
        threads share the rows (-1: as many as there are cores); the answers do not depend on it.
        All rows are read before the first is answered.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[20, 0], [30, 1], [40, 0]], [0, 0, 1])
        >>> for answer in Explainer(model).counterfactuals([[20, 0], [40, 0]]):
        ...     print(answer.changes[0])
        x1: 20 -> 35.00001 (> 35)
        x1: 40 -> 35 (<= 35)
        """
        chosen = _guided(solver_named(solver, encoding), gap)
        limit, measure = _limit(time_limit), self._distance(distance)
        parse(where, self._features)
        rows = Rows.of(X, self._columns)
        case = self._cases(rows, target)

        def question(i: int) -> Question:
            return question_of(case(i), target, where, measure, weights)

        return answered(question, len(rows), chosen, limit, _threads(n_jobs))

    def prime_implicant(
        self,
        x: Any,
        where: Where = None,
        method: str = "minimum",
        weights: Mapping[str, float] | None = None,
        solver: str | Solver = "auto",
        time_limit: float | None = None,
    ) -> PrimeImplicant:
        """What is enough for the decision for ``x`` to stand.

        ``method`` is ``"minimum"`` (least weight, proved), ``"minimal"`` (nothing can be dropped, fast)
        or ``"flip"`` (the paper's program, which is not always sufficient, and says so).  A condition
        ``name unchanged`` asks for a set that holds this feature; other conditions bound what the
        remaining features may be.
        """
        return prime_implicant(
            self._case(x), where, method, weights, solver_named(solver), _limit(time_limit)
        )

    def suffices(
        self,
        x: Any,
        features: Iterable[str],
        where: Where = None,
        solver: str | Solver = "auto",
        time_limit: float | None = None,
    ) -> Sufficiency:
        """Whether holding these features keeps the decision for ``x``, whatever the others are.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[20, 0], [30, 1], [40, 0]], [0, 0, 1])
        >>> print(Explainer(model).suffices([30, 1], ["x1"]))
        holding x1 is enough for 0
        """
        if isinstance(features, str) or not isinstance(features, Iterable):
            raise InputError(f"features={features!r}: give a list of names")
        return suffices(self._case(x), features, where, solver_named(solver), _limit(time_limit))

    def robustness(
        self,
        x: Any,
        distance: Distance = "hamming",
        weights: Mapping[str, float] | None = None,
        where: Where = None,
        target: object = None,
        solver: str | Solver = "auto",
        encoding: str | None = None,
        time_limit: float | None = None,
    ) -> Robustness:
        """The least weighted change that flips the decision for ``x`` (by default: the fewest rules)."""
        return robustness(
            self.counterfactual(x, target, where, distance, weights, solver, encoding, time_limit)
        )

    def program(
        self,
        x: Any,
        target: object = None,
        where: Where = None,
        distance: Distance | None = None,
        weights: Mapping[str, float] | None = None,
        encoding: str = "paper",
    ) -> Program:
        """The integer program behind a counterfactual, to be read, described and written to a file.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[20], [30], [40]], [0, 0, 1])
        >>> print(Explainer(model).program([30]))
        min 1 - x1<=35
        s.t.
          x1<=35 <= 0    [decision]
        """
        question = question_of(self._case(x), target, where, self._distance(distance), weights)
        return program_of(question, encoding)

    def write_program(self, path: str | Path, x: Any, **question: Any) -> Path:
        """Leave the integer program of a question in an ``.lp`` or ``.mps`` file."""
        return self.program(x, **question).write_program(path)

    def _distance(self, distance: Distance | None) -> Distance:
        if distance is not None:
            return distance
        return "hamming" if self._table is None else "l1-std"

    def _case(self, x: Any) -> Case:
        row = x if isinstance(x, Row) else read_row(x, self._columns)
        return Case.of(self._fitting(row)[0], row)

    def _cases(self, rows: Rows, target: object) -> Callable[[int], Case]:
        """The cases of many rows, made when they are asked for; all rows are looked at now, and decided."""
        decided = np.empty(len(rows), dtype=np.int64)
        for start in range(0, len(rows), CHUNK):
            matrices = []
            for i in range(start, min(start + CHUNK, len(rows))):
                row = rows.row(i)
                with _of_row(i):
                    subject, matrix = self._fitting(row)
                    point_of(subject.space, subject.features, row.values)
                matrices.append(matrix)
            decided[start : start + CHUNK] = self._reading.decide(np.vstack(matrices))

        def case(i: int) -> Case:
            row = rows.row(i)
            subject = self._fitting(row)[0]
            return Case(subject, row, point_of(subject.space, subject.features, row.values), int(decided[i]))

        for i in np.unique(decided, return_index=True)[1].tolist():
            with _of_row(i):
                targets_of(case(i), target)
        return case

    def _fitting(self, row: Row) -> tuple[Subject, Floats]:
        """The compiled model that a row fits, and the row as the model's own matrix."""
        matrix = matrix_of(self._columns, row.values, self._features)
        gone = {column for column, value in zip(self._columns, matrix[0], strict=True) if np.isnan(value)}
        if gone and not self._reading.allows_missing:
            raise InputError(
                f"column {sorted(gone)[0]!r} is missing (NaN), which {self._reading.kind} does not take"
            )
        known = {column for feature in self._features if feature.missing for column in feature.columns}
        return self._subject(frozenset(gone - known), self._beyond_usual(matrix[0])), matrix

    def _beyond_usual(self, row: Floats) -> frozenset[str]:
        """Columns that were taken for 0/1 because the model usually has such, and hold other values."""
        return frozenset(
            column
            for column, value in zip(self._columns, row.tolist(), strict=True)
            if column in self._assumed and value not in (0.0, 1.0)
        )

    def _subject(self, missing: frozenset[str], numeric: frozenset[str] = frozenset()) -> Subject:
        """The compiled model in which these columns may be missing (as may those missing in the data)."""
        key = (missing, numeric)
        if key not in self._subjects:
            features = tuple(self._adapted(feature, missing, numeric) for feature in self._features)
            self._subjects[key] = Subject.of(self._reading, self._columns, features, self._table)
        return self._subjects[key]

    @staticmethod
    def _adapted(feature: Feature, missing: frozenset[str], numeric: frozenset[str]) -> Feature:
        if feature.name in numeric:
            feature = replace(feature, kind="numeric", categories=(), codes=())
        return replace(feature, missing=True) if missing & set(feature.columns) else feature


@contextmanager
def _of_row(i: int) -> Iterator[None]:
    """Name the row of which an error speaks."""
    try:
        yield
    except InputError as error:
        raise InputError(f"row {i}: {error}") from error


def _guided(solver: Solver, gap: float) -> Solver:
    """The solver, with the gap that will do."""
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= gap < 1:
        raise InputError(f"gap={gap!r}: give a share of the cost, from 0 to less than 1")
    if gap == 0:
        return solver
    if not isinstance(solver, Guided):
        raise InputError(f"gap= goes with solver='search' or 'auto', not {solver.name!r}")
    return solver.within(float(gap))


def _threads(n_jobs: int) -> int:
    """How many threads are meant: -1 is one per core, -2 one less, as joblib counts."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r}: give a number of threads, or -1 for one per core")
    from joblib import effective_n_jobs

    return int(effective_n_jobs(int(n_jobs)))


def _limit(time_limit: float | None) -> float | None:
    if time_limit is None:
        return None
    if isinstance(time_limit, bool) or not isinstance(time_limit, Real) or not time_limit > 0:
        raise InputError(f"time_limit={time_limit!r}: give seconds, or None for no limit")
    return float(time_limit)


def _columns(reading: Reading, data: Any) -> tuple[Table | None, tuple[str, ...]]:
    """The model's columns by name, and the data in their order."""
    if data is None:
        return None, reading.columns
    table = read_table(data, reading.columns if reading.named else None)
    if table.rows == 0:
        raise InputError("data: the table has no rows")
    if reading.named:
        absent = [name for name in reading.columns if name not in table.columns]
        if absent:
            raise InputError(f"data: the model was trained with columns {absent}, which the data lacks")
        return Table(
            {n: table.columns[n] for n in reading.columns}, table.schema, table.backend
        ), reading.columns
    if len(table.names) != len(reading.columns):
        raise InputError(
            f"data: the model takes {len(reading.columns)} columns, the data has {len(table.names)}: "
            f"{', '.join(table.names[:12])}"
        )
    return table, table.names
