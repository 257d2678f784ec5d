"""Proofs: what the search writes down is confirmed, and nothing false ever is.

``POLYFLIP_SWEEP=5000 pytest test_proofs.py`` tries so many problems per test instead of the default.
"""

import ast
import os
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyflip.certify import checker, form
from polyflip.certify.checker import RefusedError, confirm
from polyflip.core import Requirement
from polyflip.core.proof import CLOSED, FILTERED, SPLIT, Proof
from polyflip.errors import SolverError
from polyflip.solvers.oracle import OracleSolver
from polyflip.solvers.search import SearchSolver
from trees import hamming_problem, random_problem

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "300"))
ROOM = 1e-8  # the checker counts prices as equal that lie closer than this

seeds = st.integers(0, 2**32 - 1)
sweep = settings(max_examples=SWEEP, deadline=None)
slow_sweep = settings(max_examples=max(1, SWEEP // 20), deadline=None)

ARRAYS = [field.name for field in fields(Proof) if field.name not in ("unit", "whole")]
FLOATS = ("lam", "theta")
WEIRD_INTS = [0, 1, -1, 2, 3, 7, 100, 2**40, 2**52 - 3, 2**53 - 3, 2**61 + 1, 2**62, 2**63 - 1, -(2**63)]
WEIRD_FLOATS = [
    0.0,
    1.0,
    -1.0,
    -1e-9,
    0.5,
    1e-300,
    1e9,
    1e15,
    2.0**58,
    2.0**63,
    1e300,
    np.inf,
    -np.inf,
    np.nan,
]
WEIRD_UNITS = [0.0, -1.0, 1e-300, 5e-324, 1e300, np.inf, np.nan, 0.1, 0.5, 2.0, 3.0, 1 / 3]

COLUMNS = tuple(f"X{i}" for i in range(6))
VOTES = hamming_problem([(name, 0, 1, 0) for name in COLUMNS], [0.0] * 6, 0, COLUMNS)


def drawn(seed):
    """A random problem; often with prices that are whole, or with leaves that tie."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 4))
    shape = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    problem = random_problem(rng, *shape, classes, bool(rng.random() < 0.3))
    if rng.random() < 0.5:
        unit = float(rng.choice([1.0, 0.1, 1 / 3, 7.0, 1e-9]))
        whole = tuple(np.sign(price) * rng.integers(1, 4, len(price)) * unit for price in problem.cost.price)
        problem = replace(problem, cost=replace(problem.cost, price=whole))
    if rng.random() < 0.4:
        parts = int(rng.choice([3, 4, 7, 8]))
        values = problem.ensemble.values.copy()
        for leaf in np.flatnonzero(values.any(axis=1)):
            values[leaf] = rng.multinomial(parts, np.ones(classes) / classes) / parts
        problem = replace(problem, ensemble=replace(problem.ensemble, values=values))
    return rng, problem


def cheapest(problem):
    return OracleSolver().cheapest(problem).cost


def too_high(truth):
    """Costs above the true one; infinite (nothing exists) where something does."""
    if truth == np.inf:
        return []
    return [1.01 * truth if truth else 1e-6, truth + 1.0, np.inf]


def confirmed(problem, cost, proof):
    """Whether the checker confirms; it may refuse, but nothing else may come out of it."""
    try:
        confirm(problem, cost, proof)
    except RefusedError:
        return False
    return True


def never_false(problem, cost, proof, truth):
    if confirmed(problem, cost, proof):
        assert cost <= truth * (1 + ROOM), f"{cost} was confirmed where a point costs {truth}"


# -- what is true ----------------------------------------------------------------------------------


@given(seed=seeds, whole=st.booleans(), classes=st.integers(2, 3))
@sweep
@example(seed=786, whole=True, classes=2)
@example(seed=4758, whole=True, classes=2)
def test_the_proof_of_the_true_cost_is_confirmed(seed, whole, classes):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 8)), classes, whole)
    truth = cheapest(problem)
    confirm(problem, truth, SearchSolver().prove(problem, truth))


@given(seed=seeds)
@sweep
@example(seed=2186)
@example(seed=3297)
def test_ties_and_whole_prices_are_proved_as_well(seed):
    problem = drawn(seed)[1]
    truth = cheapest(problem)
    confirm(problem, truth, SearchSolver().prove(problem, truth))


@given(seed=seeds)
@sweep
@example(seed=2)
@example(seed=2186)
def test_what_any_point_costs_is_proved_where_it_is_not_too_much(seed):
    """As for a class that is dearer than the one that won, or that cannot be reached at all."""
    rng, problem = drawn(seed)
    truth = cheapest(problem)
    if problem.domain.empty:
        return
    for _ in range(3):
        cells = np.array([rng.choice(np.flatnonzero(mask)) for mask in problem.domain.allowed])
        cost = problem.cost.of(cells)
        if cost <= truth:
            confirm(problem, cost, SearchSolver().prove(problem, cost))


@pytest.mark.parametrize("cost", [1.0, 2.0, 3.0, 5.0, np.inf])
def test_of_what_cannot_be_reached_any_cost_is_proved(cost):
    never = hamming_problem([("X1", i, 1, 1) for i in range(5)], [0.0], 0, ("X1",))
    assert cheapest(never) == np.inf
    confirm(never, cost, SearchSolver().prove(never, cost))


@given(seed=seeds)
@slow_sweep
def test_larger_problems_are_proved_in_many_boxes(seed):
    problem = random_problem(np.random.default_rng(seed), 12, 12)
    cost = SearchSolver().cheapest(problem).cost
    confirm(problem, cost, SearchSolver().prove(problem, cost))


@pytest.mark.parametrize("parts", [3, 2**10, 2**29, 2**30, 2**31])
@given(seed=seeds)
@slow_sweep
def test_leaves_of_many_parts_are_proved_as_well(parts, seed):
    """Up to 2**30 parts the leaves are scaled to whole numbers, beyond they are not."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 8)), 3)
    values = problem.ensemble.values.copy()
    for leaf in np.flatnonzero(values.any(axis=1)):
        values[leaf] = rng.multinomial(parts, np.ones(3) / 3) / parts
    problem = replace(problem, ensemble=replace(problem.ensemble, values=values))
    truth = cheapest(problem)
    confirm(problem, truth, SearchSolver().prove(problem, truth))


@pytest.mark.parametrize("tiny", [1e-4, 1e-7, 1e-9, 1e-12])
def test_a_cost_that_is_tiny_beside_other_prices_is_proved_as_well(tiny):
    """A row may lie next to a threshold, and a whole range away from the others."""
    price = tuple(np.array([0.0, share]) for share in (tiny, 0.7 * tiny, 1.3 * tiny, 1.0, 0.7, 0.4))
    problem = replace(VOTES, cost=replace(VOTES.cost, price=price))
    truth = cheapest(problem)
    assert truth == pytest.approx(3 * tiny)
    confirm(problem, truth, SearchSolver().prove(problem, truth))


@given(seed=seeds)
@sweep
@example(seed=1359)
@example(seed=1628)
def test_prices_of_very_different_sizes_are_proved_as_well(seed):
    rng, problem = drawn(seed)
    price = tuple(each * 10.0 ** -rng.choice([0, 0, 3, 6, 9, 11]) for each in problem.cost.price)
    problem = replace(problem, cost=replace(problem.cost, price=price))
    truth = cheapest(problem)
    confirm(problem, truth, SearchSolver().prove(problem, truth))


# -- what is false ---------------------------------------------------------------------------------


@given(seed=seeds)
@sweep
def test_the_proof_of_the_true_cost_proves_no_higher_one(seed):
    problem = drawn(seed)[1]
    truth = cheapest(problem)
    proof = SearchSolver().prove(problem, truth)
    for cost in too_high(truth):
        assert not confirmed(problem, cost, proof)


@given(seed=seeds)
@sweep
def test_a_higher_cost_cannot_be_proved(seed):
    problem = drawn(seed)[1]
    truth = cheapest(problem)
    for cost in too_high(truth):
        try:
            proof = SearchSolver().prove(problem, cost)
        except SolverError:
            continue
        assert not confirmed(problem, cost, proof)


@given(seed=seeds)
@sweep
def test_the_proof_of_another_problem_proves_nothing_false(seed):
    rng, problem = drawn(seed)
    truth = cheapest(problem)
    narrow = problem.domain
    for j, mask in enumerate(narrow.allowed):
        narrow = narrow.keep(j, rng.random(len(mask)) < 0.7)
    dear = replace(problem.cost, price=tuple(price * 1.5 for price in problem.cost.price))
    weights = problem.requirement.weights
    outright = Requirement(weights, np.full(len(weights), 0.3), problem.requirement.strict)
    for other in (
        replace(problem, domain=narrow),
        replace(problem, cost=dear),
        replace(problem, requirement=outright),
    ):
        cost = cheapest(other)
        never_false(problem, cost, SearchSolver().prove(other, cost), truth)


# -- mutations -------------------------------------------------------------------------------------


def some_value(rng, name, array):
    """One entry becomes another number."""
    if not array.size:
        return array
    changed = array.copy()
    place = rng.integers(changed.size)
    if name in FLOATS:
        weird = float(rng.choice(WEIRD_FLOATS))
        changed.flat[place] = rng.choice([weird, changed.flat[place] * 10 ** rng.normal(), rng.normal()])
    else:
        weird = WEIRD_INTS[rng.integers(len(WEIRD_INTS))]
        near = int(changed.flat[place]) + int(rng.integers(-2, 3))
        changed.flat[place] = weird if rng.random() < 0.5 else near
    return changed


def all_values(rng, name, array):
    if name in FLOATS:
        factor = float(rng.choice([0.5, 1.1, 2.0, 10.0, -1.0, 1e8, 1e-8, 1e200]))
        return array * factor if rng.random() < 0.7 else np.full_like(array, rng.choice(WEIRD_FLOATS))
    return np.full_like(array, WEIRD_INTS[rng.integers(len(WEIRD_INTS))])


def dropped(rng, name, array):
    return np.delete(array, rng.integers(len(array)), axis=0) if len(array) else array


def cut_off(rng, name, array):
    return array[: rng.integers(len(array) + 1)]


def doubled(rng, name, array):
    return np.concatenate([array, array])


def shuffled(rng, name, array):
    return rng.permutation(array)


def reshaped(rng, name, array):
    shapes = [array[None], array[..., None], np.stack([array] * 3), np.stack([array] * 3, axis=-1)]
    return shapes[rng.integers(len(shapes))]


def retyped(rng, name, array):
    kinds = ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?", "U", "O"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(kinds[rng.integers(len(kinds))])


def scalar(rng, name, array):
    return np.array(array.flat[0] if array.size else 0)


MUTATIONS = [some_value] * 6 + [all_values, dropped, cut_off, doubled, shuffled, reshaped, retyped, scalar]


def mutated(rng, proof):
    """A proof with one to three things changed."""
    for _ in range(rng.integers(1, 4)):
        draw = rng.random()
        if draw < 0.05:
            proof = replace(proof, unit=float(rng.choice(WEIRD_UNITS)))
        elif draw < 0.1:
            proof = replace(proof, whole=not proof.whole)
        else:
            name = str(rng.choice(ARRAYS))
            mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
            with np.errstate(all="ignore"):
                try:
                    changed = mutation(rng, name, getattr(proof, name))
                except (TypeError, ValueError, OverflowError):  # it was made unfit for this one before
                    continue
            proof = replace(proof, **{name: changed})
    return proof


@given(seed=seeds)
@sweep
def test_a_mutated_proof_is_refused_or_still_true(seed):
    rng, problem = drawn(seed)
    truth = cheapest(problem)
    proof = SearchSolver().prove(problem, truth)
    for _ in range(10):
        changed = mutated(rng, proof)
        never_false(problem, truth, changed, truth)
        for cost in too_high(truth):
            never_false(problem, cost, changed, truth)


def highest_confirmed(problem, proof, limit):
    """The highest cost up to a limit, or infinity, that a proof is confirmed for."""
    if confirmed(problem, np.inf, proof):
        return np.inf
    low, high = 0.0, limit
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if confirmed(problem, middle, proof) else (low, middle)
    return low


def nudged(rng, proof):
    """A proof with other multipliers, of the right shapes."""
    theta, lam = proof.theta.copy(), proof.lam.copy()
    if theta.size and rng.random() < 0.7:
        chosen = rng.random(theta.size) < rng.choice([0.1, 0.5, 1.0])
        theta = np.where(chosen, theta + rng.normal(size=theta.size) * 10 ** rng.uniform(-3, 1), theta)
    if lam.size and rng.random() < 0.6:
        lam = np.abs(lam * 10 ** rng.normal(size=lam.shape) + rng.choice([0.0, 0.1]))
    scale = proof.scale if rng.random() < 0.8 else proof.scale * 0 + WEIRD_INTS[rng.integers(len(WEIRD_INTS))]
    unit = proof.unit if rng.random() < 0.9 else float(rng.choice([0.1, 0.5, 1.0, 2.0, 3.0]))
    return replace(proof, theta=theta, lam=lam, scale=scale, unit=unit, whole=bool(rng.random() < 0.5))


@given(seed=seeds)
@slow_sweep
def test_no_climb_of_the_multipliers_gets_past_the_true_cost(seed):
    rng, problem = drawn(seed)
    truth = cheapest(problem)
    if truth == np.inf:
        return
    proof, reached = SearchSolver().prove(problem, truth), 0.0
    for _ in range(40):
        tried = nudged(rng, proof)
        height = highest_confirmed(problem, tried, 2 * truth + 1.0)
        assert height <= truth * (1 + ROOM)
        if height >= reached:
            proof, reached = tried, height


# -- proofs from nothing ---------------------------------------------------------------------------


def assembled(nodes, scale, unit=1.0, whole=False):
    """A proof of nodes (kind, feature, cut, lam, slots); a slot is (tree, feature, [(cell, theta), ...])."""
    slots = [slot for node in nodes for slot in node[4]]
    pieces = [piece for slot in slots for piece in slot[2]]
    return Proof(
        unit=unit,
        whole=whole,
        scale=np.array(scale, dtype=np.int64),
        kind=np.array([node[0] for node in nodes], dtype=np.int64),
        feature=np.array([node[1] for node in nodes], dtype=np.int64),
        cut=np.array([node[2] for node in nodes], dtype=np.int64),
        lam=np.array([node[3] for node in nodes], dtype=np.float64).reshape(len(nodes), len(scale)),
        slots=np.cumsum([0, *(len(node[4]) for node in nodes)]),
        slot_tree=np.array([slot[0] for slot in slots], dtype=np.int64),
        slot_feature=np.array([slot[1] for slot in slots], dtype=np.int64),
        pieces=np.cumsum([0, *(len(slot[2]) for slot in slots)]),
        piece_cell=np.array([cell for cell, _ in pieces], dtype=np.int64),
        theta=np.array([theta for _, theta in pieces], dtype=np.float64),
    )


def any_multipliers(rng, problem):
    rows = len(problem.requirement.at_least)
    lam = rng.exponential(size=rows) * 10 ** rng.uniform(-2, 5) * (rng.random(rows) < 0.8)
    slots = []
    for tree in range(problem.ensemble.trees):
        for feature, prices in enumerate(problem.cost.price):
            for _ in range(rng.choice([0, 0, 1, 1, 2])):
                cells = np.flatnonzero((rng.random(len(prices)) < 0.6) | (np.arange(len(prices)) == 0))
                thetas = rng.choice([prices[cells], rng.normal(size=len(cells))]) * rng.choice(
                    [0.1, 1, 1, 10]
                )
                slots.append((tree, feature, list(zip(cells.tolist(), thetas.tolist(), strict=True))))
    return lam, slots


def grown(rng, problem, depth=3):
    """Nodes of a random tree of boxes; now and then one too many or too few."""
    kind = int(rng.choice([SPLIT, SPLIT, FILTERED, CLOSED])) if depth else CLOSED
    feature = int(rng.integers(-1, len(problem.cost.price) + 1))
    nodes = [(kind, feature, int(rng.integers(-1, 5)), *any_multipliers(rng, problem))]
    below = {SPLIT: 2, FILTERED: 1, CLOSED: 0}[kind] + int(rng.choice([0] * 18 + [1, -1]))
    for _ in range(below):
        nodes += grown(rng, problem, depth - 1) if depth else []
    return nodes


@given(seed=seeds)
@sweep
def test_a_proof_from_nothing_is_refused_or_true(seed):
    rng, problem = drawn(seed)
    truth = cheapest(problem)
    for _ in range(4):
        scale = [int(rng.choice([0, 1, 8, 840, 2**20, 2**40])) for _ in problem.requirement.at_least]
        unit = float(rng.choice([1.0, 0.1, 3.0]))
        proof = assembled(grown(rng, problem), scale, unit, bool(rng.random() < 0.5))
        for cost in too_high(truth):
            never_false(problem, cost, proof, truth)


# -- proofs made to deceive ------------------------------------------------------------------------


def both(theta):
    """Prices of the two cells of a 0/1 feature."""
    return list(enumerate(theta))


def test_the_hand_made_problem_and_an_honest_proof_of_it():
    assert cheapest(VOTES) == 3.0  # a tie of six trees goes to the lower class
    closed = (CLOSED, 0, 0, [0.5], [(tree, tree, both([0.0, 1.0])) for tree in range(6)])
    confirm(VOTES, 3.0, assembled([closed], [1]))
    assert not confirmed(VOTES, 3.1, assembled([closed], [1]))


def test_a_split_parts_one_feature_only():
    """Two halves that each lack another feature's cells are both empty, and leave out most points."""
    proof = assembled([(SPLIT, 0, 0, [0.0], []), (CLOSED, 0, 0, [0.0], []), (CLOSED, 0, 0, [0.0], [])], [0])
    cell = np.repeat(np.arange(6), 2)
    cut = np.where(cell == 0, 2, 0)  # all of the first feature below, all of the others above
    proof = replace(proof, feature=np.stack([cell] * 3), cut=np.stack([cut] * 3))
    assert not confirmed(VOTES, np.inf, proof)


@pytest.mark.parametrize("spilled", [False, True], ids=["carried on", "spilled"])
def test_prices_that_reach_into_other_slots_do_not_overflow(spilled):
    """One theta stands for the cells of a hundred slots, and their sum wraps around: the factual's own
    cell then looks dear, though it is free."""
    won = hamming_problem([(name, 0, 1, 0) for name in COLUMNS], [1.0] * 6, 0, COLUMNS)
    assert cheapest(won) == 0.0
    count = 126
    theta = 2.0**27 / count + 0.05
    slots = [(0, 0, both([theta - 10, theta]))]
    for i in range(1, count):
        last = [(2 * (count - i) - 1, theta if i == count - 1 else 0.0)] if spilled else []
        slots.append((i % 6, 0, last))
    assert not confirmed(won, 1.0, assembled([(CLOSED, 0, 0, [0.0], slots)], [1]))


def test_a_scale_beyond_exact_sums_hides_no_tie():
    scale = 2**53 - 3  # six votes of it are no double
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(6)]
    assert not confirmed(VOTES, 4.0, assembled([(CLOSED, 0, 0, [0.5 / scale], slots)], [scale]))


def test_a_scale_beyond_whole_numbers_makes_no_grid():
    leaves = (0.7625, 0.2375), (0.2125, 0.7875)  # class 1 leads by -0.525 or by 0.575
    trees = [(name, 0, *leaves) for name in ("X0", "X1")]
    problem = hamming_problem(trees, [0.0, 0.0], 1, ("X0", "X1"))
    assert cheapest(problem) == 1.0
    scale = 2**63 - 1
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(2)]
    proof = assembled([(CLOSED, 0, 0, [1 / 1.1 / 2.0**63], slots)], [scale])
    assert not confirmed(problem, 1.8, proof)


@pytest.mark.parametrize("unit", [0.0, -0.0, -1.0, 5e-324, 1e-310, np.nan, np.inf, -np.inf])
def test_an_odd_unit_is_refused_or_true(unit):
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(6)]
    proof = assembled([(CLOSED, 0, 0, [0.5], slots)], [1], unit)
    for cost in (3.0, 4.0, np.inf):
        never_false(VOTES, cost, proof, 3.0)


@pytest.mark.parametrize("theta", [np.nan, np.inf, -np.inf, 1e308, -1e308])
def test_an_odd_price_is_refused_or_true(theta):
    slots = [(tree, tree, both([0.0, theta])) for tree in range(6)]
    for cost in (3.0, 4.0, np.inf):
        never_false(VOTES, cost, assembled([(CLOSED, 0, 0, [0.5], slots)], [1]), 3.0)


@pytest.mark.parametrize("lam", [-0.5, -1e-300, np.nan, np.inf, 1e308, 1e-320])
def test_an_odd_multiplier_of_the_row_is_refused_or_true(lam):
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(6)]
    for cost in (3.0, 4.0, np.inf):
        never_false(VOTES, cost, assembled([(CLOSED, 0, 0, [lam], slots)], [1]), 3.0)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("shape", ["row", "column", "square", "scalar", "empty"])
def test_an_array_of_another_shape_is_refused_or_true(name, shape):
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(6)]
    proof = assembled([(CLOSED, 0, 0, [0.5], slots)], [1])
    array = getattr(proof, name)
    other = {
        "row": array[None],
        "column": array[..., None],
        "square": np.stack([array] * len(array)),
        "scalar": array.flat[0],
        "empty": array[:0],
    }[shape]
    for cost in (3.0, 4.0, np.inf):
        never_false(VOTES, cost, replace(proof, **{name: other}), 3.0)


@pytest.mark.parametrize("pieces", [2**40, 2**62, -(2**62)])
def test_a_slot_cannot_ask_for_all_memory(pieces):
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(6)]
    proof = assembled([(CLOSED, 0, 0, [0.5], slots)], [1])
    assert not confirmed(VOTES, 3.0, replace(proof, pieces=proof.pieces + pieces * (proof.pieces == 12)))


def test_boxes_without_end_and_boxes_too_many_are_refused():
    slots = [(tree, tree, both([0.0, 1.0])) for tree in range(6)]
    closed, split, filtered = ((kind, 0, 1, [0.5], slots) for kind in (CLOSED, SPLIT, FILTERED))
    confirm(VOTES, 3.0, assembled([split, closed, filtered, closed], [1]))
    for nodes in ([], [split], [split, closed], [filtered], [closed, closed], [(7, *closed[1:])]):
        assert not confirmed(VOTES, 3.0, assembled(nodes, [1]))


def test_the_checker_is_short_and_stands_alone():
    lines = 0
    for path, siblings in ((Path(checker.__file__), {"polyflip.certify.form"}), (Path(form.__file__), set())):
        tree = ast.parse(path.read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {
            name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
        }
        foreign = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
        assert foreign == {"numpy"} | siblings
        if siblings:
            described = (ast.Module, ast.FunctionDef, ast.ClassDef)
            texts = [
                node.body[0]
                for node in ast.walk(tree)
                if isinstance(node, described) and ast.get_docstring(node)
            ]
            prose = {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}
            written = enumerate(path.read_text().splitlines(), 1)
            lines = sum(bool(line.strip()) and number not in prose for number, line in written)
    assert 0 < lines < 150
