"""Points of equal price: when there can be any, and the problem of choosing among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polyflip.core import Cost, Ensemble, Problem, Requirement, Rules
from polyflip.core.space import Bools, Floats

__all__ = ["tie_problem", "ties_possible", "unit_of"]

MOST_UNITS = 10_000


def _prices(problem: Problem, most: float = np.inf) -> list[Floats]:
    """The prices of the cells that are left, per feature, up to a limit."""
    pairs = zip(problem.cost.price, problem.domain.allowed, strict=True)
    left = [price[allowed] for price, allowed in pairs]
    return [price[price <= most] for price in left]


def unit_of(problem: Problem) -> float | None:
    """The unit of which all prices are whole multiples (as with counts), or None."""
    prices = np.unique(np.concatenate(_prices(problem)))
    prices = prices[prices > 0]
    if not len(prices):
        return 1.0
    for parts in range(1, 13):
        units = prices / (prices[0] / parts)
        if np.abs(units - np.rint(units)).max() < 1e-9 and units.max() <= MOST_UNITS:
            return float(prices[0] / parts)
    return None


def ties_possible(problem: Problem, cost: float) -> bool:
    """Whether two points of this price are likely: some cells have the same price.

    Prices that are no counts, and all different, add up to the same sum by an accident only.
    """
    room = problem.cost.room(cost)
    near = [np.sort(price) for price in _prices(problem, cost + room)]
    if any(len(price) > 1 and np.diff(price).min() <= room for price in near):
        return True
    positive = np.sort(np.concatenate([price[price > room] for price in near]))
    return bool(len(positive) > 1 and np.diff(positive).min() <= room)


def tie_problem(problem: Problem, cost: float) -> Problem:
    """The least change among points that cost no more: the price becomes one more row.

    The price is a sum of trees of one feature each, a leaf per run of cells of one price.
    """
    limit = cost + problem.cost.room(cost)
    domain = problem.domain
    for feature, price in enumerate(problem.cost.price):
        domain = domain.keep(feature, price <= limit)
    ensemble = _with_prices(problem.ensemble, problem.cost.price, domain.allowed)
    old = problem.requirement
    weights = np.zeros((len(old.weights) + 1, ensemble.outputs))
    weights[:-1, :-1] = old.weights
    weights[-1, -1] = 1.0
    requirement = Requirement(
        weights, np.append(old.at_least, -limit), np.append(old.strict, False).astype(np.bool_)
    )
    cost_of_change = Cost(problem.cost.tie_break, problem.cost.changed, problem.cost.move)
    return replace(
        problem, ensemble=ensemble, requirement=requirement, cost=cost_of_change, domain=domain, hints=None
    )


def _with_prices(ensemble: Ensemble, prices: tuple[Floats, ...], allowed: tuple[Bools, ...]) -> Ensemble:
    """The ensemble with one more output: minus the price."""
    owners: list[int] = []
    runs: list[list[tuple[int, int]]] = []
    roots, rule, left, right, leaf = ([part] for part in (
        ensemble.roots, ensemble.rule, ensemble.left, ensemble.right, ensemble.leaf
    ))  # fmt: skip
    values = [np.hstack([ensemble.values, np.zeros((ensemble.leaves, 1))])]
    nodes, leaves = len(ensemble.rule), ensemble.leaves
    for feature, price in enumerate(prices):
        shown = np.where(allowed[feature], price, 0.0)
        starts = np.concatenate([[0], np.flatnonzero(np.diff(shown)) + 1])
        inner, count = len(starts) - 1, 2 * len(starts) - 1
        at = 2 * np.arange(inner)
        one_rule, one_left, one_right, one_leaf = (np.full(count, -1, dtype=np.int64) for _ in range(4))
        one_rule[at] = ensemble.rules.count + len(owners) + np.arange(inner)
        one_left[at], one_right[at] = nodes + at + 1, nodes + at + 2
        ends = np.append(at + 1, count - 1)
        one_leaf[ends] = leaves + np.arange(len(starts))
        owners += [feature] * inner
        runs += [[(0, int(start))] for start in starts[1:]]
        value = np.zeros((len(starts), ensemble.outputs + 1))
        value[:, -1] = -shown[starts]
        for parts, part in (
            (roots, [nodes]),
            (rule, one_rule),
            (left, one_left),
            (right, one_right),
            (leaf, one_leaf),
        ):
            parts.append(np.asarray(part))
        values.append(value)
        nodes, leaves = nodes + count, leaves + len(starts)
    rules: Rules = ensemble.rules.extended(owners, runs)
    return Ensemble(
        rules,
        np.concatenate(roots),
        np.concatenate(rule),
        np.concatenate(left),
        np.concatenate(right),
        np.concatenate(leaf),
        np.vstack(values),
        np.append(ensemble.forbidden, np.zeros(leaves - ensemble.leaves, dtype=np.bool_)),
        np.append(ensemble.base, 0.0),
        ensemble.roundoff,
    )
