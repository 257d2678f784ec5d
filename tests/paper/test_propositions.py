"""One test per numbered statement of the paper (definitions 1 and 8, propositions 2 to 7 and 9).

The paper numbers definitions and propositions together; its source labels proposition 9 "prop8".
"""

import itertools

import numpy as np
import pytest

from polyflip.core import Axis, Space
from polyflip.polynomials import decision_polynomial
from polyflip.solvers.ilp import IlpSolver, paper
from polyflip.solvers.ilp.program import Expression, Program
from polyflip.solvers.oracle import OracleSolver
from trees import FIGURE_1B, folded, hamming_problem, random_ensemble, random_problem

BITS = list(itertools.product((0, 1), repeat=4))


def random_function(seed):
    table = np.random.default_rng(seed).integers(0, 2, size=16)
    return lambda x: int(table[int("".join(str(x[name]) for name in "abcd"), 2)])


def both(seed):
    function = random_function(seed)
    return function, *(decision_polynomial(function, k, list("abcd")) for k in (0, 1))


@pytest.mark.parametrize("seed", range(10))
def test_definition_1_and_proposition_2(seed):
    """A decision polynomial is 1 exactly on its class, and both sum to one."""
    function, zero, one = both(seed)
    for bits in BITS:
        point = dict(zip("abcd", bits, strict=True))
        assert one(point) == function(point)
        assert zero(point) + one(point) == 1


@pytest.mark.parametrize("seed", range(10))
def test_proposition_3(seed):
    """Where a decision polynomial is 0, so is each of its terms."""
    _, zero, _ = both(seed)
    for bits in BITS:
        point = dict(zip("abcd", bits, strict=True))
        values = [all(f.variable.at(point) in f.allowed for f in term) for term in zero.terms]
        assert zero(point) == sum(values)
        assert zero(point) or not any(values)


@pytest.mark.parametrize("factors", range(1, 6))
def test_proposition_4(factors):
    """A product of k indicators is 1 iff they sum to k, and 0 iff they sum to at most k - 1."""
    for bits in itertools.product((0, 1), repeat=factors):
        assert (np.prod(bits) == 1) == (sum(bits) == factors)
        assert (np.prod(bits) == 0) == (sum(bits) <= factors - 1)


def feasible(problem, polynomial, cells):
    """Whether the paper's program has a solution in which every feature is in the given cell."""
    for j, cell in enumerate(cells):
        only = np.arange(problem.space.axes[j].size) == cell
        problem = type(problem)(
            problem.space, problem.ensemble, problem.requirement, problem.cost, problem.domain.keep(j, only)
        )
    program, _ = paper.encode(problem, polynomial)
    return program.solve().status == "optimal"


def every_point(problem):
    return itertools.product(*(range(axis.size) for axis in problem.space.axes))


@pytest.mark.parametrize("tree", FIGURE_1B)
@pytest.mark.parametrize(("polynomial", "proposition"), [("unwanted", 4), ("wanted", 5)])
@pytest.mark.parametrize("target", [0, 1])
def test_proposition_5_and_4_on_a_tree(tree, polynomial, proposition, target):
    """The constraints of one tree hold exactly on the points of the wanted class."""
    problem = hamming_problem([tree], (2, 0, 1), target)
    for cells in every_point(problem):
        decided = int(np.argmax(problem.ensemble.scores(np.array([cells]))[0]))
        assert feasible(problem, polynomial, cells) == (decided == target), proposition


def test_proposition_6():
    """delta = 0 forces every term to be zero, and so the polynomial."""
    space, ensemble = folded([FIGURE_1B[0]])
    for cells in itertools.product(*(range(axis.size) for axis in space.axes)):
        held = ensemble.rules.holds(np.array([cells]))[0]
        terms = [
            [held[r] == sign for r, sign in path]
            for leaf, path in ensemble.paths(0)
            if ensemble.values[leaf, 0]
        ]
        allowed = all(sum(term) - len(term) <= 0 - 1 for term in terms)
        assert allowed == (ensemble.scores(np.array([cells]))[0][0] == 0)


@pytest.mark.parametrize(("polynomial", "proposition"), [("unwanted", 6), ("wanted", 7)])
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("trees", [2, 3])
def test_proposition_6_and_7_on_a_forest(polynomial, proposition, target, trees):
    """The constraints of a forest hold exactly where more than half of the trees vote for the class."""
    problem = hamming_problem(FIGURE_1B[:trees], (2, 0, 1), target, outright=True)
    for cells in every_point(problem):
        votes = problem.ensemble.scores(np.array([cells]))[0]
        assert feasible(problem, polynomial, cells) == (votes[target] > trees / 2), proposition


def test_definition_8_and_proposition_9():
    """The consistency rows of a feature hold exactly where its rules form a chain."""
    problem = hamming_problem(FIGURE_1B, (2, 0, 1), 0)
    program, _ = paper.encode(problem)
    chain = [i for i, name in enumerate(program.names) if name.startswith("X2<=")]
    thresholds = [float(program.names[i].removeprefix("X2<=")) for i in chain]
    assert thresholds == [1.0, 2.0, 6.0]
    rows = [row for row in program.rows if row.group == "consistency" and set(row.terms) <= set(chain)]
    for bits in itertools.product((0, 1), repeat=3):
        value = dict(zip(chain, bits, strict=True))
        kept = all(sum(c * value[i] for i, c in row.terms.items()) >= row.lower for row in rows)
        assert kept == (list(bits) == sorted(bits))


def test_category_sums_to_one():
    """A feature of k values becomes k indicators that sum to one (the non-binary case)."""
    space = Space((Axis.category("race", ["white", "black", "asian"]),))
    rng = np.random.default_rng(0)
    problem = random_problem(rng)
    ensemble = random_ensemble(rng, space, 3, 2, whole=True)
    cost = type(problem.cost)((np.array([0.0, 1.0, 1.0]),), (np.array([False, True, True]),), (np.zeros(3),))
    asked = type(problem)(space, ensemble, problem.requirement, cost, space.everything())
    program, _ = paper.encode(asked)
    ones = [row for row in program.rows if row.group == "one value"]
    assert [(sorted(row.terms.values()), row.lower, row.upper) for row in ones] == [
        ([1.0, 1.0, 1.0], 1.0, 1.0)
    ]


@pytest.mark.parametrize("polynomial", ["unwanted", "wanted"])
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("tree", FIGURE_1B)
def test_forest_constraints_generalise_tree_constraints(polynomial, target, tree):
    """The appendix: proposition 6 or 7 on a forest of one tree allows what proposition 4 or 5 allows."""
    problem = hamming_problem([tree], (2, 0, 1), target)
    as_forest = Program()
    grid = paper.Grid(as_forest, problem)
    unwanted, wanted = paper._terms(problem, grid, problem.inequalities[0], 0)
    if polynomial == "unwanted":
        paper._proposition_6(grid, {0: unwanted}, 1)
    else:
        paper._proposition_7(grid, {0: wanted}, 1)
    paper._consistency(problem, grid)
    for cells in every_point(problem):
        mark = as_forest.rows[:]
        for j, cell in enumerate(cells):
            here = grid.inside(j, [(cell, cell + 1)])
            as_forest.row("here", "here", here, 1.0, 1.0)
        as_forest.minimise(Expression())
        assert (as_forest.solve().status == "optimal") == feasible(problem, polynomial, cells)
        as_forest.rows[:] = mark


def test_constraints_stay_within_the_papers_count():
    """At most N m / 2 terms and two consistency rows per rule: O(N (m / 2 + F*))."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, 4, 6, 2, whole=True)
        ensemble = random_ensemble(rng, problem.space, 6, 2, whole=True)
        asked = type(problem)(
            problem.space, ensemble, problem.requirement, problem.cost, problem.space.everything()
        )
        program, _ = paper.encode(asked)
        paths = max(sum(1 for _ in ensemble.paths(t)) for t in range(ensemble.trees))
        assert program.count("decision") <= ensemble.trees * (paths / 2 + 1)
        boundaries = sum(axis.size - 1 for axis in problem.space.axes if axis.kind != "category")
        assert program.count("consistency") <= 2 * boundaries
        assert "O(N(m/2 + F*))" in program.describe()


def test_the_smaller_polynomial_is_used():
    tree = ("X1", 1, ("X2", 1, 1, ("X3", 1, 1, 0)), 1)  # one path to 0, three to 1
    towards_one = hamming_problem([tree], (0, 2, 2), 1)
    program, _ = paper.encode(towards_one)
    assert program.count("decision") == 1  # proposition 4 on the single 0-term
    assert IlpSolver("paper").cheapest(towards_one).cost == OracleSolver().cheapest(towards_one).cost == 1.0
