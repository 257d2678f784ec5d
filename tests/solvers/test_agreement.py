"""Both encodings against brute force, on random problems with everything a problem can hold."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyflip.core import Status
from polyflip.solvers.auto import AutoSolver
from polyflip.solvers.ilp import IlpSolver
from polyflip.solvers.oracle import OracleSolver
from polyflip.solvers.search import SearchSolver
from trees import random_problem

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "1500"))

seeds = st.integers(0, 2**32 - 1)


def agrees(problem, solver):
    """The solver and the oracle say the same: status, price, and place among equals."""
    truth, answer = OracleSolver().cheapest(problem), solver.cheapest(problem)
    assert answer.status is truth.status
    if truth.status is Status.INFEASIBLE:
        assert answer.cells is None
        return
    assert problem.meets(answer.cells)
    assert answer.cost == pytest.approx(truth.cost, rel=1e-9, abs=1e-9)
    assert problem.cost.rank(answer.cells)[1] == pytest.approx(problem.cost.rank(truth.cells)[1], abs=1e-6)
    assert answer.bound <= answer.cost


@pytest.mark.parametrize("encoding", ["tight", "paper"])
@given(seed=seeds, whole=st.booleans(), classes=st.integers(2, 3))
@settings(max_examples=300, deadline=None)
def test_encoding_agrees_with_oracle(encoding, seed, whole, classes):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 5)), int(rng.integers(1, 6)), classes, whole)
    agrees(problem, IlpSolver(encoding))


@given(seed=seeds, whole=st.booleans(), classes=st.integers(2, 3))
@settings(max_examples=SWEEP, deadline=None)
def test_search_agrees_with_oracle(seed, whole, classes):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 8)), classes, whole)
    agrees(problem, SearchSolver())


@given(seed=seeds)
@settings(max_examples=max(100, SWEEP // 50), deadline=None)
def test_search_agrees_with_the_program_on_larger_problems(seed):
    problem = random_problem(np.random.default_rng(seed), 12, 12, 2)
    search, program = SearchSolver().cheapest(problem), IlpSolver().cheapest(problem)
    assert search.status is program.status
    if search.cells is not None:
        assert problem.meets(search.cells)
        assert search.cost == pytest.approx(program.cost, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("solver", [IlpSolver(), SearchSolver()], ids=lambda solver: solver.name)
@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_extreme_agrees_with_oracle(solver, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    weights = rng.normal(size=2)
    truth = OracleSolver().extreme(problem, weights)
    answer = solver.extreme(problem, weights)
    assert answer.status is truth.status
    if truth.cells is not None:
        assert answer.value == pytest.approx(truth.value, abs=1e-7)
        assert answer.bound >= truth.value - 1e-7


@given(seed=seeds, share=st.floats(0.0, 1.0))
@settings(max_examples=300, deadline=None)
def test_search_says_whether_a_threshold_is_exceeded(seed, share):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    weights = rng.normal(size=2)
    truth = OracleSolver().extreme(problem, weights)
    if truth.cells is None:
        return
    threshold = truth.value + share - 0.5
    answer = SearchSolver().extreme(problem, weights, threshold=threshold)
    if abs(threshold - truth.value) > 1e-6:
        assert (answer.cells is not None) == (truth.value > threshold)
        assert answer.cells is not None or answer.bound <= threshold + 1e-9
    if answer.cells is not None:
        assert threshold < answer.value <= truth.value + 1e-9


def test_auto_takes_brute_force_on_few_cells_and_the_search_on_many():
    weights = np.array([1.0, -1.0])
    small = random_problem(np.random.default_rng(3), 2, 3)
    assert AutoSolver().cheapest(small).solver == "oracle"
    assert AutoSolver().extreme(small, weights).solver == "oracle"
    large = random_problem(np.random.default_rng(3), 30, 20)
    assert large.domain.count > 1_000_000
    assert AutoSolver().cheapest(large).solver == "search"
    assert AutoSolver().extreme(large, weights).solver == "search"


def test_time_limit_of_nothing_is_unknown_and_never_claims_more():
    problem = random_problem(np.random.default_rng(5), 4, 5)
    answer = IlpSolver().cheapest(problem, time_limit=0.0)
    assert answer.status is Status.UNKNOWN
    assert answer.bound == 0.0
    assert IlpSolver().extreme(problem, np.array([1.0, -1.0]), time_limit=0.0).status is Status.UNKNOWN
