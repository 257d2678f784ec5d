"""Stopped at any moment, by a limit, a gap, a callback or Ctrl-C: what is said holds of the true optimum.

``POLYFLIP_SWEEP=5000 pytest test_anytime.py`` tries so many random problems instead of the default.
"""

import os
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from interrupts import interrupted_after
from polyflip import Explainer, InputError, Status
from polyflip.solvers.oracle import OracleSolver
from polyflip.solvers.search import SearchSolver
from trees import random_problem

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "200"))
ROOM = 1e-9

seeds = st.integers(0, 2**32 - 1)
sweep = settings(max_examples=SWEEP, deadline=None)


class Case:
    """A question that takes a while, and its true optimum."""

    def __init__(self, data, labels, trees, row, vote="model", where=None, target=None):
        self.model = RandomForestClassifier(trees, max_depth=5, random_state=0).fit(data, labels)
        self.explainer = Explainer(self.model, data, vote=vote)
        self.asked = {"x": data[row], "solver": "search", "where": where, "target": target}
        self.vote = vote
        self.truth = self.ask()
        assert self.truth.status is Status.OPTIMAL

    def ask(self, **how):
        return self.explainer.counterfactual(**self.asked, **how)

    def flips(self, point, target):
        row = np.array([[point[column] for column in self.explainer.columns]])
        if self.vote == "model":
            return self.model.predict(row)[0] == target
        votes = [tree.predict(row)[0] for tree in self.model.estimators_]
        return 2 * votes.count(self.explainer.classes.index(target)) > len(votes)

    def check(self, answer):
        """What the answer says is so, whatever it was that ended the search."""
        assert 0.0 <= answer.bound <= self.truth.cost * (1 + ROOM)
        if answer.status is Status.UNKNOWN:
            assert answer.point is None
            assert answer.cost == np.inf
            return
        assert answer.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert answer.cost >= self.truth.cost * (1 - ROOM)
        assert answer.target != answer.decision
        assert self.flips(answer.point, answer.target)
        assert answer.gap == pytest.approx(1 - answer.bound / answer.cost)
        if answer.status is Status.OPTIMAL:
            assert answer.cost == pytest.approx(self.truth.cost, rel=ROOM)
            assert answer.bound == answer.cost
        else:
            assert answer.bound < answer.cost


@pytest.fixture(scope="module")
def cases():
    data, labels = load_breast_cancer(return_X_y=True)
    three, of_three = make_classification(1000, 12, n_informative=6, n_classes=3, random_state=0)
    return {
        "two classes": Case(data, labels, 40, 0),
        "majority": Case(data, labels, 40, 0, vote="majority"),
        "three classes": Case(three, of_three, 30, 1),
        "one of three": Case(three, of_three, 30, 1, where="x1 unchanged and x2 increases", target=2),
    }


NAMES = ["two classes", "majority", "three classes", "one of three"]


class Reports:
    """A callback that remembers what it was told, and stops after so many reports."""

    def __init__(self, most=None):
        self.most, self.told = most, []

    def __call__(self, incumbent, bound, elapsed):
        self.told.append((incumbent, bound, elapsed))
        return len(self.told) == self.most


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_holds_and_gets_better(cases, name):
    case, reports = cases[name], Reports()
    answer = case.ask(callback=reports)
    assert answer.cost == pytest.approx(case.truth.cost, rel=ROOM)
    assert answer.status is Status.OPTIMAL
    assert not answer.stopped
    assert reports.told
    costs = [np.inf if incumbent is None else incumbent.cost for incumbent, _, _ in reports.told]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] >= case.truth.cost * (1 - ROOM)
    seconds = [elapsed for _, _, elapsed in reports.told]
    assert seconds == sorted(seconds)
    assert all(0.0 <= bound <= case.truth.cost * (1 + ROOM) for _, bound, _ in reports.told)
    assert all(bound <= cost for (_, bound, _), cost in zip(reports.told, costs, strict=True))
    shown = {id(incumbent): incumbent for incumbent, _, _ in reports.told if incumbent is not None}
    assert all(case.flips(each.point, each.target) for each in shown.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_callback_stops_the_search_with_what_it_has(cases, name):
    case, reports = cases[name], Reports()
    case.ask(callback=reports)
    for most in range(1, len(reports.told) + 1):
        stopping = Reports(most)
        answer = case.ask(callback=stopping)
        case.check(answer)
        assert len(stopping.told) <= most
        if len(stopping.told) == most:
            assert answer.stopped or answer.status is Status.OPTIMAL
            incumbent = stopping.told[-1][0]
            assert answer.cost <= (np.inf if incumbent is None else incumbent.cost)
        if answer.stopped:
            assert any("stopped" in note for note in answer.notes)


def test_a_callback_that_answers_as_numpy_does_stops_the_search_too(cases):
    told = []
    answer = cases["two classes"].ask(callback=lambda *report: told.append(report) or np.float64(1.0) > 0)
    assert len(told) == 1
    assert answer.stopped


@pytest.mark.parametrize("said", [None, False, 0, np.False_])
def test_a_callback_that_says_nothing_stops_nothing(cases, said):
    assert cases["two classes"].ask(callback=lambda *report: said).status is Status.OPTIMAL


def test_an_error_in_a_callback_comes_out(cases):
    def callback(*report):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        cases["two classes"].ask(callback=callback)


def test_the_callback_is_told_where_the_question_is_small():
    model = DecisionTreeClassifier(random_state=0).fit([[20, 0], [30, 1], [40, 0]], [0, 0, 1])
    reports = Reports()
    answer = Explainer(model).counterfactual([30, 1], callback=reports)
    assert [incumbent.cost for incumbent, _, _ in reports.told][-1:] == [answer.cost]


def test_only_a_search_can_be_watched(cases):
    case = cases["two classes"]
    for solver in ("ilp", "oracle"):
        for how in ({"callback": Reports()}, {"gap": 0.1}):
            with pytest.raises(InputError, match="search"):
                case.explainer.counterfactual(case.asked["x"], solver=solver, **how)


# -- gap -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.01, 0.2, 0.9])
@pytest.mark.parametrize("name", NAMES)
def test_a_gap_is_kept(cases, name, gap):
    case = cases[name]
    answer = case.ask(gap=gap)
    case.check(answer)
    assert answer.cost * (1 - gap) <= case.truth.cost * (1 + ROOM)
    assert answer.gap <= gap + ROOM
    assert not answer.stopped


def test_no_gap_is_no_gap(cases):
    case = cases["two classes"]
    answer = case.ask(gap=0.0)
    assert (answer.status, answer.cost, answer.point) == (Status.OPTIMAL, case.truth.cost, case.truth.point)


@pytest.mark.parametrize("gap", [-0.1, 1.0, 2, np.nan, np.inf, True, "0.1", None])
def test_a_gap_is_a_share(cases, gap):
    with pytest.raises(InputError, match="gap="):
        cases["two classes"].ask(gap=gap)


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1e-9, 1e-3, 0.02, 0.1])
@pytest.mark.parametrize("name", NAMES)
def test_a_limit_of_time_is_kept_and_what_is_said_holds(cases, name, limit):
    case = cases[name]
    started = time.perf_counter()
    answer = case.ask(time_limit=limit)
    assert time.perf_counter() - started < limit + 10.0
    case.check(answer)
    assert not answer.stopped


def test_a_limit_that_is_long_enough_changes_nothing(cases):
    case = cases["three classes"]
    answer = case.ask(time_limit=1000)
    assert (answer.status, answer.cost, answer.point) == (Status.OPTIMAL, case.truth.cost, case.truth.point)


@pytest.mark.parametrize("limit", [0, -1, np.nan, True, "1"])
def test_a_limit_is_a_time(cases, limit):
    with pytest.raises(InputError, match="time_limit="):
        cases["two classes"].ask(time_limit=limit)


# -- Ctrl-C ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_ends_the_search_with_what_it_has(cases, name):
    case, answers = cases[name], 0
    started = time.perf_counter()
    case.ask()
    whole = time.perf_counter() - started
    for share in np.linspace(0.1, 0.95, 12):
        try:
            with interrupted_after(whole * share):
                answer = case.ask()
        except KeyboardInterrupt:  # it came before the search began, or after it had ended
            continue
        case.check(answer)
        assert answer.stopped or answer.status is Status.OPTIMAL
        answers += 1
    assert answers


def test_after_ctrl_c_the_explainer_answers_as_before(cases):
    case = cases["two classes"]
    with interrupted_after(0.02):
        case.ask()
    answer = case.ask()
    assert (answer.status, answer.cost, answer.point) == (Status.OPTIMAL, case.truth.cost, case.truth.point)


def test_ctrl_c_in_a_callback_is_one_too(cases):
    def callback(*report):
        raise KeyboardInterrupt

    case = cases["two classes"]
    answer = case.ask(callback=callback)
    case.check(answer)
    assert answer.stopped


# -- random problems -------------------------------------------------------------------------------


def holds(problem, solution, truth):
    """What a solver says, against brute force."""
    assert solution.bound <= truth.cost * (1 + ROOM)
    if solution.status in (Status.OPTIMAL, Status.INFEASIBLE):
        assert solution.status is truth.status
        assert solution.cost == pytest.approx(truth.cost, rel=ROOM, abs=1e-12)
    if solution.cells is None:
        assert solution.status in (Status.INFEASIBLE, Status.UNKNOWN)
        assert solution.cost == np.inf
    else:
        assert problem.meets(solution.cells)
        assert solution.cost == pytest.approx(problem.cost.of(solution.cells), rel=ROOM, abs=1e-12)
        assert solution.cost >= truth.cost * (1 - ROOM)


@given(seed=seeds, most=st.integers(1, 4))
@sweep
def test_a_watch_sees_true_points_and_stops_the_search(seed, most):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 8)), int(rng.integers(2, 12)))
    truth, seen = OracleSolver().cheapest(problem), []

    def watch(cells, cost, bound):
        if cells is not None:
            assert problem.meets(cells)
            assert cost == pytest.approx(problem.cost.of(cells), rel=ROOM, abs=1e-12)
            assert cost >= truth.cost * (1 - ROOM)
        assert bound <= truth.cost * (1 + ROOM)
        assert not seen or cost <= seen[-1]
        seen.append(cost)
        return len(seen) == most

    solution = SearchSolver().watched_by(watch).cheapest(problem)
    holds(problem, solution, truth)
    assert len(seen) <= most
    assert solution.stopped <= (len(seen) == most)


@given(seed=seeds, gap=st.floats(0.0, 0.99))
@sweep
def test_a_gap_is_kept_on_any_problem(seed, gap):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 8)), int(rng.integers(2, 12)))
    truth = OracleSolver().cheapest(problem)
    solution = SearchSolver().within(gap).cheapest(problem)
    holds(problem, solution, truth)
    assert (solution.cells is None) == (truth.cells is None)
    if solution.cells is not None:
        assert solution.cost * (1 - gap) <= solution.bound + ROOM


@given(seed=seeds, limit=st.sampled_from([1e-9, 1e-4, 1e-3]))
@sweep
def test_a_limit_says_nothing_false_on_any_problem(seed, limit):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 8)), int(rng.integers(2, 12)))
    holds(problem, SearchSolver().cheapest(problem, limit), OracleSolver().cheapest(problem))
