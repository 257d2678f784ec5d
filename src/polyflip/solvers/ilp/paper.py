"""The paper's program, proposition by proposition, so that a reader can put the paper next to it.

* one tree: proposition 4 on the terms of the unwanted class, or proposition 5 on the wanted one;
* a forest under majority vote: proposition 6 (unwanted class) or 7 (wanted class);
* any other ensemble (class frequencies, log-ratios): proposition 7's natural extension, in which
  every leaf has its indicator and the vote counts leaf values instead of ones;
* consistency by proposition 9 (labelled 8 in the paper's source), a category by its sum to one.

Whichever polynomial has fewer terms is used, which is what keeps the program at
``O(N (m / 2 + F*))`` constraints for N trees of at most m paths and F* rules each.
"""

from __future__ import annotations

import numpy as np

from polyflip.core import Inequality, Problem
from polyflip.errors import InputError
from polyflip.solvers.ilp.grid import Grid
from polyflip.solvers.ilp.program import Expression, Program

__all__ = ["encode"]

Term = list[Expression]


def encode(problem: Problem, polynomial: str = "fewer") -> tuple[Program, Grid]:
    """The paper's program for a problem.

    ``polynomial`` says on which terms the vote is written: those of the ``unwanted`` class
    (propositions 4 and 6), of the ``wanted`` one (5 and 7), or the ``fewer`` of both.
    """
    if polynomial not in ("fewer", "wanted", "unwanted"):
        raise InputError(f"polynomial={polynomial!r}: choose 'fewer', 'wanted' or 'unwanted'")
    program = Program("integer program, the paper's encoding")
    grid = Grid(program, problem)
    quota = _majority(problem)
    if quota is None:
        _leaf_values(problem, grid)
    else:
        _vote(problem, grid, quota, polynomial)
    _forbidden(problem, grid)
    _consistency(problem, grid)
    program.minimise(grid.price(problem.cost.price))
    program.notes = (*program.notes, _size(problem, program))
    return program, grid


def _majority(problem: Problem) -> int | None:
    """How many trees must vote for the wanted class, or None where trees do not simply vote."""
    if len(problem.inequalities) != 1:
        return None
    row = problem.inequalities[0]
    voters = _voters(problem)
    votes = row.leaf[~problem.ensemble.forbidden & np.isin(problem.ensemble.tree_of_leaf, voters)]
    unit = float(np.abs(votes).max()) if len(votes) else 0.0
    if not row.whole or unit == 0.0 or not np.all(np.abs(votes) == unit):
        return None
    return int(np.ceil((row.at_least / unit + len(voters)) / 2))


def _voters(problem: Problem) -> list[int]:
    """The trees of the model: those without a forbidden leaf."""
    owner = problem.ensemble.tree_of_leaf
    penalties = set(owner[problem.ensemble.forbidden].tolist())
    return [tree for tree in range(problem.ensemble.trees) if tree not in penalties]


def _terms(problem: Problem, grid: Grid, row: Inequality, tree: int) -> tuple[list[Term], list[Term]]:
    """The monomials of a tree's unwanted and of its wanted class."""
    unwanted: list[Term] = []
    wanted: list[Term] = []
    for leaf, path in problem.ensemble.paths(tree):
        (wanted if row.leaf[leaf] > 0 else unwanted).append(grid.literals(path))
    return unwanted, wanted


def _vote(problem: Problem, grid: Grid, quota: int, polynomial: str) -> None:
    """Propositions 4 to 7: ``quota`` of the trees must vote for the wanted class."""
    voters = _voters(problem)
    terms = {tree: _terms(problem, grid, problem.inequalities[0], tree) for tree in voters}
    against = sum(len(unwanted) for unwanted, _ in terms.values())
    pro = sum(len(wanted) for _, wanted in terms.values())
    grid.program.notes = (
        f"terms: {against} of the unwanted class, {pro} of the wanted class; {polynomial} used",
    )
    unwanted_used = polynomial == "unwanted" or (polynomial == "fewer" and against <= pro)
    if len(voters) == 1:
        unwanted, wanted = terms[voters[0]]
        if quota == 1 and unwanted_used:
            return _proposition_4(grid, unwanted)
        if quota == 1:
            return _proposition_5(grid, wanted)
    if unwanted_used:
        return _proposition_6(grid, {tree: unwanted for tree, (unwanted, _) in terms.items()}, quota)
    return _proposition_7(grid, {tree: wanted for tree, (_, wanted) in terms.items()}, quota)


def _proposition_4(grid: Grid, unwanted: list[Term]) -> None:
    """Every unwanted term is zero: not all of its factors are one."""
    for i, term in enumerate(unwanted, 1):
        grid.program.row(f"term {i} is 0", "decision", Expression.total(term), upper=len(term) - 1)


def _proposition_5(grid: Grid, wanted: list[Term]) -> None:
    """One wanted term is one: all of its factors are."""
    deltas = _deltas(grid, "delta", wanted, "term")
    grid.program.row("one term is 1", "decision", Expression.total(deltas), 1.0, 1.0)


def _deltas(grid: Grid, name: str, terms: list[Term], row: str) -> list[Expression]:
    """An indicator per term that can be one only where all factors of the term are."""
    deltas = []
    for i, term in enumerate(terms, 1):
        delta = Expression(0.0, {grid.program.column(f"{name}_{i}", integer=True): 1.0})
        left = Expression.total(term).plus(delta, -float(len(term)))
        grid.program.row(f"{row} {i}", "decision", left, lower=0.0)
        deltas.append(delta)
    return deltas


def _proposition_6(grid: Grid, unwanted: dict[int, list[Term]], quota: int) -> None:
    """delta_j is one wherever tree j votes for the unwanted class; few enough trees may."""
    deltas = []
    for j, terms in enumerate(unwanted.values(), 1):
        delta = Expression(0.0, {grid.program.column(f"delta_{j}", integer=True): 1.0})
        for i, term in enumerate(terms, 1):
            left = Expression.total(term).plus(delta, -1.0)
            grid.program.row(f"tree {j} term {i}", "decision", left, upper=len(term) - 1)
        deltas.append(delta)
    grid.program.row("votes", "votes", Expression.total(deltas), upper=len(unwanted) - quota)


def _proposition_7(grid: Grid, wanted: dict[int, list[Term]], quota: int) -> None:
    """delta_j is one only where tree j votes for the wanted class; enough trees must."""
    deltas = []
    for j, terms in enumerate(wanted.values(), 1):
        delta = Expression(0.0, {grid.program.column(f"delta_{j}", integer=True): 1.0})
        parts = _deltas(grid, f"delta_{j}", terms, f"tree {j} term")
        left = Expression.total(parts).plus(delta, -1.0)
        grid.program.row(f"tree {j} votes", "decision", left, 0.0, 0.0)
        deltas.append(delta)
    grid.program.row("votes", "votes", Expression.total(deltas), lower=quota)


def _leaf_values(problem: Problem, grid: Grid) -> None:
    """Proposition 7 with leaf values: one leaf per tree is reached, and their values add up."""
    totals = [Expression() for _ in problem.inequalities]
    for j, tree in enumerate(_voters(problem), 1):
        leaves = list(problem.ensemble.paths(tree))
        deltas = _deltas(grid, f"delta_{j}", [grid.literals(path) for _, path in leaves], f"tree {j} term")
        grid.program.row(f"tree {j} has one leaf", "decision", Expression.total(deltas), 1.0, 1.0)
        for i, row in enumerate(problem.inequalities):
            values = {
                next(iter(delta.terms)): float(row.leaf[leaf])
                for (leaf, _), delta in zip(leaves, deltas, strict=True)
                if row.leaf[leaf] != 0.0
            }
            totals[i] = Expression(0.0, totals[i].terms | values)
    for i, (row, total) in enumerate(zip(problem.inequalities, totals, strict=True), 1):
        grid.program.row(f"score {i}", "votes", total, lower=row.at_least)


def _forbidden(problem: Problem, grid: Grid) -> None:
    """Penalty trees, by proposition 4: the forbidden term is zero."""
    owner = problem.ensemble.tree_of_leaf
    for tree in sorted(set(owner[problem.ensemble.forbidden].tolist())):
        for leaf, path in problem.ensemble.paths(tree):
            if problem.ensemble.forbidden[leaf]:
                left = Expression.total(grid.literals(path))
                grid.program.row(f"forbidden {leaf}", "forbidden", left, upper=len(path) - 1)


def _consistency(problem: Problem, grid: Grid) -> None:
    """Proposition 9: a rule that holds makes all wider rules hold; a rule that fails, all narrower fail.

    A row of a rule with itself says nothing and is left out, and so is the second of two equal rows.
    """
    for feature, axis in enumerate(problem.space.axes):
        if axis.kind == "category":
            continue
        columns = [column for _, column in grid.chain(feature)]
        seen: set[frozenset[tuple[int, float]]] = set()
        for k, column in enumerate(columns):
            this = grid.program.names[column]
            for side, others in (("wider", columns[k + 1 :]), ("narrower", columns[:k])):
                sign = 1.0 if side == "wider" else -1.0
                terms = dict.fromkeys(others, sign) | {column: -sign * len(others)}
                if others and frozenset(terms.items()) not in seen:
                    seen.add(frozenset(terms.items()))
                    grid.program.row(f"{this} {side}", "consistency", Expression(0.0, terms), lower=0.0)


def _size(problem: Problem, program: Program) -> str:
    """The count of constraints next to the paper's bound."""
    voters = _voters(problem)
    paths = [sum(1 for _ in problem.ensemble.paths(tree)) for tree in voters]
    rules = [
        len({int(r) for n in problem.ensemble.nodes_of(t) if (r := problem.ensemble.rule[n]) >= 0})
        for t in voters
    ]
    m, most = max(paths, default=0), max(rules, default=0)
    n = len(voters)
    return (
        f"the paper's O(N(m/2 + F*)): N = {n} trees, m = {m} paths, F* = {most} rules: "
        f"{n * (m / 2 + most):g}; here {program.count('decision') + program.count('votes')} for the decision "
        f"and {program.count('consistency')} for consistency"
    )
