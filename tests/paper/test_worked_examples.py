"""Every worked example of the paper: figure 1a, figure 1b's forest, and the reductions of 4.3."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from polyflip import decision_polynomial
from polyflip.polynomials import DecisionPolynomial, _term
from polyflip.solvers.ilp import IlpSolver, paper
from polyflip.solvers.oracle import OracleSolver
from trees import FIGURE_1A, FIGURE_1B, folded, hamming_problem


def polynomial(tree, wanted, columns=("X1", "X2", "X3")):
    space, ensemble = folded([tree], columns)
    terms = [
        _term(space, ensemble, path) for leaf, path in ensemble.paths(0) if ensemble.values[leaf, wanted]
    ]
    return DecisionPolynomial(wanted, tuple(terms))


def rows(program, group):
    """The rows of a group as text, blanks removed."""
    lines = [line for line in str(program).splitlines() if line.endswith(f"[{group}]")]
    return {line.split("    [")[0].strip() for line in lines}


def test_figure_1a_polynomials():
    assert str(polynomial(FIGURE_1A, 1)) == "1[X1 <= 10]·1[X2 <= 50] + (1 - 1[X1 <= 10])·1[X2 <= 20]"
    assert str(polynomial(FIGURE_1A, 0)) == (
        "1[X1 <= 10]·(1 - 1[X2 <= 50]) + (1 - 1[X1 <= 10])·(1 - 1[X2 <= 20])"
    )


def test_figure_1a_from_a_fitted_tree():
    """A tree that scikit-learn grows on points of the figure has the figure's polynomials."""
    points = np.array(list(itertools.product([9.0, 11.0], [19.0, 21.0, 49.0, 51.0])))
    labels = [int(b <= 50) if a <= 10 else int(b <= 20) for a, b in points]
    tree = DecisionTreeClassifier(random_state=0).fit(points, labels)
    one, zero = (decision_polynomial(tree, of=k, features=["X1", "X2"]) for k in (1, 0))
    for a, b in points:
        decided = int(tree.predict([[a, b]])[0])
        assert one({"X1": a, "X2": b}) == decided
        assert zero({"X1": a, "X2": b}) == 1 - decided


def test_figure_1a_program_as_printed():
    """Factual X1 <= 10, 20 < X2 <= 50; the 0-polynomial by proposition 5."""
    problem = hamming_problem([FIGURE_1A], (5, 30), 0, ("X1", "X2"))
    program, _ = paper.encode(problem, "wanted")
    assert rows(program, "decision") == {
        "X1<=10 - X2<=50 - 2 delta_1 >= -1",  # 1[X1<=10] + (1 - 1[X2<=50]) >= 2 delta_1
        "-X1<=10 - X2<=20 - 2 delta_2 >= -2",  # (1 - 1[X1<=10]) + (1 - 1[X2<=20]) >= 2 delta_2
        "delta_1 + delta_2 = 1",
    }
    names = program.names
    weights = {names[i]: w for i, w in program.objective.terms.items()}
    # w1 (1 - 1[X1<=10]) + w2 1[X2<=20] + w3 (1 - 1[X2<=50]), all weights one
    assert (program.objective.constant, weights) == (2.0, {"X1<=10": -1.0, "X2<=20": 1.0, "X2<=50": -1.0})


def test_figure_1a_solution_is_the_set_above_50():
    """With weights that make X1 dear, every point with X2 > 50 and X1 as it was is an answer."""
    problem = hamming_problem([FIGURE_1A], (5, 30), 0, ("X1", "X2"))
    dear = replace(problem.cost, price=(3 * problem.cost.price[0], problem.cost.price[1]))
    problem = replace(problem, cost=dear)
    for solver in (OracleSolver(), IlpSolver("paper"), IlpSolver("tight")):
        solution = solver.cheapest(problem)
        assert solution.cost == 1.0
        assert problem.space.axes[1].above[solution.cells[1]] == 50
        assert problem.space.axes[0].up_to[solution.cells[0]] == 10


def test_figure_1b_polynomials():
    assert [str(polynomial(tree, 1)) for tree in FIGURE_1B] == [
        "1[X2 <= 1]·1[X3 <= 2] + (1 - 1[X2 <= 1])·1[X3 <= 10]",
        "1[X1 <= 5]·1[X2 <= 2]",
        "1[X1 <= 3]·1[X3 <= 5] + (1 - 1[X1 <= 3])·(1 - 1[X2 <= 6])",
    ]


def test_figure_1b_program_as_printed():
    """Factual X1 <= 3, X2 <= 1, X3 <= 2: objective, 0-generating and consistency constraints."""
    problem = hamming_problem(FIGURE_1B, (2, 0, 1), 0, outright=True)
    program, _ = paper.encode(problem)
    assert rows(program, "decision") == {
        "X2<=1 + X3<=2 - delta_1 <= 1",  # 1[X2<=1] + 1[X3<=2] - 2 <= delta_1 - 1
        "-X2<=1 + X3<=10 - delta_1 <= 0",
        "X1<=5 + X2<=2 - delta_2 <= 1",
        "X1<=3 + X3<=5 - delta_3 <= 1",
        "-X1<=3 - X2<=6 - delta_3 <= -1",
    }
    assert rows(program, "votes") == {"delta_1 + delta_2 + delta_3 <= 1"}
    assert rows(program, "consistency") == {
        "X1<=5 - X1<=3 >= 0",
        "X2<=2 + X2<=6 - 2 X2<=1 >= 0",
        "X2<=6 - X2<=2 >= 0",
        "-X2<=1 + X2<=2 >= 0",
        "-X2<=1 - X2<=2 + 2 X2<=6 >= 0",
        "X3<=5 + X3<=10 - 2 X3<=2 >= 0",
        "X3<=10 - X3<=5 >= 0",
        "-X3<=2 + X3<=5 >= 0",
        "-X3<=2 - X3<=5 + 2 X3<=10 >= 0",
    }
    weights = {program.names[i]: w for i, w in program.objective.terms.items()}
    assert program.objective.constant == 8.0
    assert weights == dict.fromkeys(
        ["X1<=3", "X1<=5", "X2<=1", "X2<=2", "X2<=6", "X3<=2", "X3<=5", "X3<=10"], -1.0
    )


def test_figure_1b_all_solvers_agree():
    problem = hamming_problem(FIGURE_1B, (2, 0, 1), 0, outright=True)
    costs = {s.name: s.cheapest(problem).cost for s in (OracleSolver(), IlpSolver("paper"), IlpSolver())}
    assert len(set(costs.values())) == 1


def test_first_reduction_of_4_3():
    function = decision_polynomial(
        lambda x: 0 if x["X1"] and x["X2"] else 1, of=0, features=["X1", "X2", "X3"], reduce=False
    )
    assert str(function) == "X1·X2·X3 + X1·X2·(1 - X3)"
    assert str(function.reduced()) == "X1·X2"


def test_second_reduction_of_4_3():
    full = decision_polynomial(lambda x: 0 if x["X1"] else 1, of=0, features=["X1", "X2", "X3"], reduce=False)
    assert str(full) == ("X1·X2·X3 + X1·X2·(1 - X3) + X1·(1 - X2)·X3 + X1·(1 - X2)·(1 - X3)")
    assert str(full.reduced()) == "X1"


@pytest.mark.parametrize("seed", range(20))
def test_reduction_keeps_the_function(seed):
    table = np.random.default_rng(seed).integers(0, 2, size=16)
    names = list("abcd")
    whole = decision_polynomial(
        lambda x: table[int("".join(str(x[n]) for n in names), 2)], 1, names, reduce=False
    )
    short = whole.reduced()
    assert len(short) <= len(whole)
    for bits in itertools.product((0, 1), repeat=4):
        point = dict(zip(names, bits, strict=True))
        assert short(point) == whole(point) == table[int("".join(map(str, bits)), 2)]
