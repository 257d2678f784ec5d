"""Prices of very different sizes: the answer, and its place among equals, are those of brute force."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyflip.core import Cost
from polyflip.solvers.oracle import OracleSolver
from polyflip.solvers.search import SearchSolver
from trees import hamming_problem, random_problem

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "300"))


def agrees(problem):
    truth, answer = OracleSolver().cheapest(problem), SearchSolver().cheapest(problem)
    assert answer.status is truth.status
    if truth.cells is not None:
        assert problem.meets(answer.cells)
        assert answer.cost == pytest.approx(truth.cost, rel=1e-9, abs=0.0)
        assert answer.bound <= answer.cost
        place, wanted = (problem.cost.rank(cells)[1] for cells in (answer.cells, truth.cells))
        assert place == pytest.approx(wanted, abs=1e-6)


@given(seed=st.integers(0, 2**32 - 1), whole=st.booleans(), classes=st.integers(2, 3))
@settings(max_examples=SWEEP, deadline=None)
def test_features_of_very_different_prices(seed, whole, classes):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 8)), classes, whole)
    price = tuple(each * 10.0 ** -rng.choice([0, 0, 3, 6, 9, 11]) for each in problem.cost.price)
    agrees(replace(problem, cost=replace(problem.cost, price=price)))


@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-15, 15))
@settings(max_examples=SWEEP, deadline=None)
def test_prices_in_any_unit(seed, power):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 8)))
    price = tuple(each * 10.0**power for each in problem.cost.price)
    agrees(replace(problem, cost=replace(problem.cost, price=price)))


@pytest.mark.parametrize("share", [1.0, 1e-3, 1e-6, 1e-9])
def test_of_two_equals_the_one_that_moves_less(share):
    """The third feature moves less than the first; what the second would cost is beside the point."""
    trees = [("X1", 0, 0, ("X1", 1, 0, 0)), ("X2", 0, 0, 0), ("X3", 0, 0, ("X3", 1, 0, 0))]
    problem = hamming_problem(trees, [0.0, 0.0, 0.0], 0)
    own = tuple(np.arange(size) == 0 for size in (3, 2, 3))
    price = np.array([0.0, 0.5, 1.0]) * share, np.array([0.0, 1.0]), np.array([0.0, 1.0, 1.0]) * share
    move = np.array([0.0, 0.9, 0.8]), np.array([0.0, 0.5]), np.array([0.0, 0.5, 0.7])
    changed = (~own[0], ~own[1], ~own[2])
    forbidden = {0: np.array([True, True, False]), 2: np.array([True, False, True])}
    problem = replace(problem, cost=Cost(price, changed, move)).without([forbidden])
    assert OracleSolver().cheapest(problem).cells.tolist() == [0, 0, 1]
    agrees(problem)
