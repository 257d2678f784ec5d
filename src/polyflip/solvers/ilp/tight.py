"""The tight program: a variable per leaf, one row per inner node and side, chains for consistency.

``sum of the leaves left of a node <= rule``, ``sum of those right of it <= 1 - rule``, one leaf per
tree.  Its linear relaxation is the convex hull of each single tree, so that only the rules need to
be 0/1: the leaves follow.
"""

from __future__ import annotations

from itertools import pairwise

from polyflip.core import Problem
from polyflip.core.ensemble import LEAF
from polyflip.core.space import Floats
from polyflip.solvers.ilp.grid import Grid
from polyflip.solvers.ilp.program import Expression, Program

__all__ = ["encode", "score"]


def encode(problem: Problem) -> tuple[Program, Grid]:
    """The tight program for a problem."""
    program, grid, leaves = _trees(problem)
    for i, row in enumerate(problem.inequalities, 1):
        program.row(f"score {i}", "votes", _weighted(leaves, row.leaf), lower=row.at_least)
    program.minimise(grid.price(problem.cost.price))
    return program, grid


def score(problem: Problem, weights: Floats) -> tuple[Program, Grid]:
    """The program that seeks the highest ``weights @ score`` (as a minimum of its negative)."""
    program, grid, leaves = _trees(problem)
    program.minimise(_weighted(leaves, -(problem.ensemble.values @ weights)))
    return program, grid


def _trees(problem: Problem) -> tuple[Program, Grid, dict[int, int]]:
    program = Program("integer program, the tight encoding")
    grid = Grid(program, problem)
    leaves: dict[int, int] = {}
    ensemble = problem.ensemble
    for tree in range(ensemble.trees):
        below: dict[int, list[int]] = {}  # node -> the columns of its leaves
        for node in reversed(ensemble.nodes_of(tree)):  # children come after their parent in preorder
            rule = int(ensemble.rule[node])
            if rule == LEAF:
                leaf = int(ensemble.leaf[node])
                upper = 0.0 if ensemble.forbidden[leaf] else 1.0
                leaves[leaf] = program.column(f"leaf_{tree}_{leaf}", upper=upper)
                below[node] = [leaves[leaf]]
                continue
            left, right = below.pop(int(ensemble.left[node])), below.pop(int(ensemble.right[node]))
            holds = grid.rule(rule)
            for side, columns, allowed in (("left", left, holds), ("right", right, holds.negated())):
                reached = Expression(0.0, dict.fromkeys(columns, 1.0))
                program.row(f"node {node} {side}", "decision", reached.plus(allowed, -1.0), upper=0.0)
            below[node] = left + right
        root = below[int(ensemble.roots[tree])]
        program.row(
            f"tree {tree} has one leaf", "decision", Expression(0.0, dict.fromkeys(root, 1.0)), 1.0, 1.0
        )
    _chains(problem, grid)
    return program, grid, leaves


def _chains(problem: Problem, grid: Grid) -> None:
    for feature, axis in enumerate(problem.space.axes):
        if axis.kind == "category":
            continue
        columns = [column for _, column in grid.chain(feature)]
        for one, next_one in pairwise(columns):
            name = f"{grid.program.names[one]} then {grid.program.names[next_one]}"
            grid.program.row(name, "consistency", Expression(0.0, {one: 1.0, next_one: -1.0}), upper=0.0)


def _weighted(leaves: dict[int, int], values: Floats) -> Expression:
    return Expression(
        0.0, {column: float(values[leaf]) for leaf, column in leaves.items() if values[leaf] != 0.0}
    )
