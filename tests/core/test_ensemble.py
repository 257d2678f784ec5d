"""Ensembles: rules on cells, paths, boxes and penalty trees."""

import itertools

import numpy as np
import pytest

from polyflip.core import Axis, Cost, Solution, Space, Status
from polyflip.core.ensemble import Rules, runs_of
from polyflip.errors import TooLargeError
from polyflip.solvers import solver_named
from polyflip.solvers.oracle import OracleSolver
from trees import FIGURE_1B, folded, random_problem


def test_reached_leaves_have_paths_that_hold():
    space, ensemble = folded(FIGURE_1B)
    paths = {leaf: path for tree in range(ensemble.trees) for leaf, path in ensemble.paths(tree)}
    assert sorted(paths) == list(range(ensemble.leaves))
    for cells in itertools.product(*(range(axis.size) for axis in space.axes)):
        point = np.array([cells])
        held = ensemble.rules.holds(point)[0]
        for leaf in ensemble.reached(point)[0]:
            assert all(held[rule] == sign for rule, sign in paths[int(leaf)])


def test_box_of_a_point_is_all_that_reaches_the_same_leaves():
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed))
        points = np.array(list(itertools.product(*(range(n) for n in problem.space.sizes))))
        reached = problem.ensemble.reached(points)
        box = problem.ensemble.leaf_box(problem.space, points[0])
        inside = np.all([mask[points[:, j]] for j, mask in box.items()] or [points[:, 0] >= 0], axis=0)
        assert (reached[inside] == reached[0]).all()
        assert inside[0]


def test_penalty_trees_forbid_exactly_their_box():
    space, ensemble = folded(FIGURE_1B)
    box = {0: np.array([True, False, True]), 2: np.array([False, True, False, False])}
    forbidding = ensemble.forbidding([box])
    points = np.array(list(itertools.product(*(range(axis.size) for axis in space.axes))))
    inside = box[0][points[:, 0]] & box[2][points[:, 2]]
    assert (forbidding.admits(points) == ~inside).all()
    assert np.array_equal(forbidding.scores(points), ensemble.scores(points))
    assert not ensemble.forbidding([{}]).admits(points).any()


def test_rules_of_no_run_never_hold():
    rules = Rules.of([0, 0], [[], [(0, 2)]])
    assert rules.holds(np.array([[0], [1]])).tolist() == [[False, True], [False, True]]
    assert not rules.mask(0, 2).any()


@pytest.mark.parametrize("mask", list(itertools.product((False, True), repeat=4)))
def test_runs(mask):
    again = np.zeros(4, dtype=bool)
    for low, high in runs_of(np.array(mask)):
        again[low:high] = True
    assert again.tolist() == list(mask)


def test_axis_cells():
    axis = Axis.number("x", [1.0, 2.0], missing=True)
    assert [axis.cell_of(v) for v in (0.0, 1.0, np.nextafter(1.0, 2), 2.0, 3.0, np.nan)] == [0, 0, 1, 1, 2, 3]
    values = np.array([0.0, 1.0, 3.0, np.nan])
    assert axis.cells_of(values).tolist() == [0, 0, 2, 3]
    whole = Axis.number("n", [0.5, 0.7, 1.5], integer=True, low=0, high=3)
    assert whole.size == 3  # nothing whole lies between 0.5 and 0.7
    assert [whole.cell_of(v) for v in (0, 1, 2, 3, 4, -1, 1.5)] == [0, 1, 2, 2, -1, -1, -1]


def test_nearest_value_from_missing_is_ordinary():
    space = Space((Axis.number("x", [1.0, 2.0], missing=True),))
    domain = space.everything()
    assert np.isnan(domain.nearest(0, 3, 1.0))
    assert domain.nearest(0, 2, np.nan) == np.nextafter(2.0, 3)


def test_costs_order_by_price_then_changes_then_way():
    cost = Cost(
        (np.array([0.0, 1.0]), np.array([0.0, 1.0])),
        (np.array([False, True]),) * 2,
        (np.array([0.0, 0.2]), np.array([0.0, 0.9])),
    )
    near, far, both = (cost.rank(np.array(cells)) for cells in ([1, 0], [0, 1], [1, 1]))
    assert cost.better(near, far)
    assert cost.better(far, both)
    assert not cost.better(near, near)


def test_gap():
    assert Solution(Status.OPTIMAL, None, 2.0, 2.0).gap == 0.0
    assert Solution(Status.UNKNOWN, None, np.inf, 2.0).gap == np.inf


def test_the_oracle_refuses_what_would_not_end():
    problem = random_problem(np.random.default_rng(1), 4)
    with pytest.raises(TooLargeError, match="combinations"):
        OracleSolver(limit=1).cheapest(problem)


def test_a_solver_may_be_given_itself():
    solver = OracleSolver()
    assert solver_named(solver) is solver
