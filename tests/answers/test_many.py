"""Many rows: in order, one after the other as they are asked for, the same on any number of threads."""

import subprocess
import sys
import threading
import time
from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from interrupts import interrupted_after
from polyflip import ConditionError, Explainer, InputError, SolverError, Status
from polyflip.solvers.oracle import OracleSolver

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 70, 300),
        "income": np.round(RNG.normal(30, 8, 300), 2),
        "sex": RNG.integers(0, 2, 300),
        "race": RNG.integers(0, 3, 300),
        "debt": np.round(RNG.exponential(5, 300), 2),
    }
)
LABELS = np.where((FRAME.age > 40) & (FRAME.income > 28) | (FRAME.race == 2) & (FRAME.debt > 3), "yes", "no")
FOREST = RandomForestClassifier(15, max_depth=5, random_state=0).fit(FRAME, LABELS)
ROWS = FRAME.iloc[:12]
JOBS = [1, 2, -1]


@pytest.fixture(scope="module")
def explainer():
    return Explainer(FOREST, FRAME)


@pytest.fixture(scope="module")
def one_by_one(explainer):
    return [explainer.counterfactual(ROWS.iloc[[i]], where="sex unchanged") for i in range(len(ROWS))]


def said(answer):
    """Everything that an answer says but for the seconds."""
    return {name: value for name, value in answer.to_dict().items() if name != "seconds"}


def threads():
    return {each for each in threading.enumerate() if each.name.startswith("polyflip")}


@pytest.mark.parametrize("solver", ["auto", "search"])
@pytest.mark.parametrize("n_jobs", [*JOBS, -2, 5, np.int64(2)])
def test_answers_are_those_of_one_row_at_a_time(explainer, one_by_one, n_jobs, solver):
    answers = list(explainer.counterfactuals(ROWS, where="sex unchanged", n_jobs=n_jobs, solver=solver))
    assert len(answers) == len(one_by_one)
    for answer, alone in zip(answers, one_by_one, strict=True):
        assert said(answer) == {**said(alone), "solver": answer.solver}
        assert answer.to_frame().equals(alone.to_frame())
    assert not threads()


@pytest.mark.parametrize("n_jobs", JOBS)
def test_searched_answers_are_identical(n_jobs):
    data = RNG.normal(size=(300, 12))
    forest = RandomForestClassifier(30, max_depth=5, random_state=0).fit(data, data[:, :4].sum(axis=1) > 0)
    explainer = Explainer(forest, data)
    alone = [explainer.counterfactual(row, solver="search") for row in data[:6]]
    again = list(explainer.counterfactuals(data[:6], solver="search", n_jobs=n_jobs))
    assert [(a.cost, a.bound, a.point, a.region) for a in again] == [
        (a.cost, a.bound, a.point, a.region) for a in alone
    ]


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "numpy": lambda frame: frame.to_numpy(),
    "list of dicts": lambda frame: frame.to_dict("records"),
    "list of lists": lambda frame: frame.to_numpy().tolist(),
    "columns": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "lists as columns": lambda frame: frame.to_dict("list"),
    "list of series": lambda frame: [frame.iloc[i] for i in range(len(frame))],
    "generator": lambda frame: (row for row in frame.to_numpy()),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_read(explainer, one_by_one, kind, n_jobs):
    answers = list(explainer.counterfactuals(KINDS[kind](ROWS), where="sex unchanged", n_jobs=n_jobs))
    assert [answer.cost for answer in answers] == [answer.cost for answer in one_by_one]
    for answer, alone in zip(answers, one_by_one, strict=True):
        assert answer.point == pytest.approx(alone.point)
        assert FOREST.predict(pd.DataFrame([answer.point])[list(FRAME)])[0] == answer.target


def test_a_frame_gives_frames_of_its_own_kind(explainer):
    labelled = ROWS.set_index(pd.Index([f"row {i}" for i in range(len(ROWS))]))
    for i, answer in enumerate(explainer.counterfactuals(labelled)):
        frame = answer.to_frame()
        assert list(frame.index) == [f"row {i}"]
        assert (frame.dtypes == FRAME.dtypes).all()
    for answer in explainer.counterfactuals(pl.from_pandas(ROWS), n_jobs=2):
        assert isinstance(answer.to_frame(), pl.DataFrame)


@pytest.mark.parametrize("n_jobs", JOBS)
@pytest.mark.parametrize(
    "empty",
    [FRAME.iloc[:0], pl.from_pandas(FRAME.iloc[:0]), FRAME.to_numpy()[:0], []],
    ids=lambda e: type(e).__name__,
)
def test_an_empty_table_has_no_answers(explainer, empty, n_jobs):
    assert list(explainer.counterfactuals(empty, n_jobs=n_jobs)) == []


@pytest.mark.parametrize("n_jobs", JOBS)
def test_one_row_has_one_answer(explainer, one_by_one, n_jobs):
    (answer,) = explainer.counterfactuals(ROWS.iloc[[3]], where="sex unchanged", n_jobs=n_jobs)
    assert said(answer) == said(one_by_one[3])


def test_rows_of_a_class_that_is_wanted_already_are_named(explainer):
    decided = [explainer.decision(ROWS.iloc[[i]]) for i in range(len(ROWS))]
    first = decided.index("yes")
    with pytest.raises(InputError, match=f"row {first}: .*decided already"):
        explainer.counterfactuals(ROWS, target="yes")


BAD = {
    "a word": ("age", "old"),
    "infinite": ("income", np.inf),
    "too large": ("income", 1e300),
    "missing": ("debt", np.nan),
    "nothing": ("sex", None),
    "no category": ("sex", 7),
    "a fraction": ("age", 20.5),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_row_names_its_number_before_any_answer(kind, n_jobs):
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(FRAME, LABELS)
    column, value = BAD[kind]
    rows = ROWS.to_dict("records")
    rows[7][column] = value
    explainer = Explainer(model, FRAME)
    if kind in ("missing", "nothing"):  # which scikit-learn's trees take
        assert len(list(explainer.counterfactuals(rows, n_jobs=n_jobs))) == len(rows)
        return
    with pytest.raises(InputError, match=f"row 7: .*{column}"):
        explainer.counterfactuals(rows, n_jobs=n_jobs)


def test_a_row_of_another_length_names_its_number(explainer):
    rows = ROWS.to_numpy().tolist()
    rows[5] = rows[5][:3]
    with pytest.raises(InputError, match=r"row 5: .*3 values"):
        explainer.counterfactuals(rows)
    rows[5] = "words"
    with pytest.raises(InputError, match="row 5: "):
        explainer.counterfactuals(rows)


@pytest.mark.parametrize("table", [FRAME.drop(columns="debt"), FRAME.to_numpy()[:, :3], "words", 5, None])
def test_a_table_that_does_not_fit_is_refused(explainer, table):
    with pytest.raises(InputError):
        explainer.counterfactuals(table)


def test_a_wrong_question_is_refused_at_once_even_without_rows(explainer):
    with pytest.raises(ConditionError):
        explainer.counterfactuals(FRAME.iloc[:0], where="nonsense > 3")
    with pytest.raises(InputError, match="gap="):
        explainer.counterfactuals(FRAME.iloc[:0], gap=2)
    with pytest.raises(InputError, match="time_limit="):
        explainer.counterfactuals(FRAME.iloc[:0], time_limit=-1)


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2", None])
def test_threads_are_counted(explainer, n_jobs):
    with pytest.raises(InputError, match="n_jobs="):
        explainer.counterfactuals(ROWS, n_jobs=n_jobs)


# -- while it runs ---------------------------------------------------------------------------------

CELLS, BENIGN = load_breast_cancer(return_X_y=True)
SLOW = RandomForestClassifier(300, max_depth=6, random_state=0).fit(CELLS, BENIGN)
HARD = CELLS[[5, *[0, 1, 2] * 10]]  # an easy row, then rows of many seconds each


@pytest.fixture(scope="module")
def slow():
    return Explainer(SLOW, CELLS)


def test_answers_come_as_they_are_found(explainer):
    started = time.perf_counter()
    answers = explainer.counterfactuals(FRAME.sample(5000, replace=True, random_state=0))
    first = next(answers)
    until_first = time.perf_counter() - started
    assert first.status is Status.OPTIMAL
    assert len(list(islice(answers, 200))) == 200
    assert until_first < (time.perf_counter() - started) / 1.05
    answers.close()


@pytest.mark.parametrize("n_jobs", JOBS)
def test_the_limit_of_time_is_each_rows_own(slow, n_jobs):
    started = time.perf_counter()
    answers = list(slow.counterfactuals(HARD[:5], time_limit=0.3, n_jobs=n_jobs))
    assert time.perf_counter() - started < 20.0
    assert Status.FEASIBLE in [answer.status for answer in answers]
    for row, answer in zip(HARD, answers, strict=False):
        assert answer.seconds < 10.0
        assert not answer.stopped
        assert answer.bound <= answer.cost
        assert answer.decision == SLOW.predict(row[None])[0]
        if answer.point is not None:
            assert SLOW.predict([list(answer.point.values())])[0] == answer.target != answer.decision


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_an_iterator_that_is_closed_stops_its_threads(slow, n_jobs):
    answers = slow.counterfactuals(HARD, time_limit=20, n_jobs=n_jobs)
    assert next(answers).status in (Status.FEASIBLE, Status.OPTIMAL, Status.UNKNOWN)
    started = time.perf_counter()
    answers.close()
    assert time.perf_counter() - started < 10.0
    assert not threads()
    with pytest.raises(StopIteration):
        next(answers)


def test_an_iterator_that_is_dropped_ends_promptly(slow):
    answers = slow.counterfactuals(HARD, time_limit=20, n_jobs=2)
    next(answers)
    started = time.perf_counter()
    del answers
    assert time.perf_counter() - started < 10.0
    assert not threads()


def test_an_iterator_that_is_never_begun_starts_no_threads(slow):
    answers = slow.counterfactuals(HARD, n_jobs=2)
    assert not threads()
    answers.close()
    assert not threads()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_gap_is_kept_for_every_row(explainer, one_by_one, n_jobs):
    answers = explainer.counterfactuals(ROWS, where="sex unchanged", gap=0.2, n_jobs=n_jobs, solver="search")
    for answer, exact in zip(answers, one_by_one, strict=True):
        assert answer.cost * 0.8 <= exact.cost * (1 + 1e-9) <= answer.cost * (1 + 2e-9)
        assert answer.bound <= exact.cost * (1 + 1e-9)


def test_two_iterators_run_side_by_side(explainer, one_by_one):
    both = [explainer.counterfactuals(ROWS, where="sex unchanged", n_jobs=2) for _ in range(2)]
    for one, other, alone in zip(*both, one_by_one, strict=True):
        assert said(one) == said(other) == said(alone)


def test_rows_that_lack_values_are_answered_as_alone():
    gaps = FRAME.astype(float)
    gaps.loc[::5, "income"] = np.nan
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(gaps, LABELS)
    explainer = Explainer(forest, FRAME)  # its data lacks nothing
    rows = gaps.iloc[:12]
    alone = [explainer.counterfactual(rows.iloc[[i]]) for i in range(12)]
    for n_jobs in (1, 2):
        together = list(explainer.counterfactuals(rows, n_jobs=n_jobs))
        assert [a.cost for a in together] == [a.cost for a in alone]
        assert [str(a) for a in together] == [str(a) for a in alone]


class Failing(OracleSolver):
    """A solver that gives up at its fifth question."""

    asked = 0

    def cheapest(self, problem, time_limit=None):
        self.asked += 1
        if self.asked >= 5:
            raise SolverError("enough")
        return super().cheapest(problem, time_limit)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_comes_at_its_row_and_leaves_no_threads(n_jobs):
    small = DecisionTreeClassifier(max_depth=4, random_state=0).fit(FRAME, LABELS)
    answers = Explainer(small, FRAME).counterfactuals(ROWS, solver=Failing(), n_jobs=n_jobs)
    found = []
    with pytest.raises(SolverError, match="enough"):
        found.extend(answer.status for answer in answers)
    assert not threads()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_loop_promptly(slow, n_jobs):
    answers = slow.counterfactuals(HARD, time_limit=20, n_jobs=n_jobs)
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), interrupted_after(1.0):
        for _ in answers:
            pass
    assert time.perf_counter() - started < 15.0
    assert not threads()


def test_a_program_that_ends_half_way_does_not_wait_for_the_rest():
    code = """
import time
from itertools import count
from sklearn.tree import DecisionTreeClassifier
from polyflip import Explainer
from polyflip.solvers.oracle import OracleSolver

class Sleepy(OracleSolver):
    calls = count()

    def cheapest(self, problem, time_limit=None):
        if next(self.calls):
            time.sleep(600)
        return super().cheapest(problem)

tree = DecisionTreeClassifier(random_state=0).fit([[20, 0], [30, 1], [40, 0]], [0, 0, 1])
answers = Explainer(tree).counterfactuals([[20, 0]] * 4, solver=Sleepy(), n_jobs=2)
print(next(answers).status, flush=True)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stdout.strip()) == (0, "optimal"), run.stderr
