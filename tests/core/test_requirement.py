"""Requirements in whole numbers: scaled, rounded up to what the sum can take, never past a real point."""

from dataclasses import replace

import numpy as np
import pytest

from polyflip.core import Requirement
from polyflip.core.requirement import _denominator, roundoff
from trees import folded


def row(trees, target, strict_up=True):
    _, ensemble = folded(trees)
    return ensemble, Requirement.wins(target, 2).inequalities(ensemble)[0]


def test_pure_leaves_move_in_steps_of_two():
    trees = [("X1", 1.0, 0, 1)] * 4
    _, higher = row(trees, 1)
    _, lower = row(trees, 0)
    assert (higher.whole, higher.at_least) == (True, 2.0)  # more than a tie of 2 : 2 is 3 : 1
    assert lower.at_least == 0.0  # a tie goes to the lowest class


def test_odd_number_of_pure_trees_never_ties():
    _, either = row([("X1", 1.0, 0, 1)] * 3, 0)
    assert either.at_least == 1.0


def test_halves_are_scaled():
    tree = ("X1", 1.0, (0.5, 0.5), (0.25, 0.75))
    _, found = row([tree] * 2, 1)
    assert found.whole
    assert set(np.abs(found.leaf)) == {0.0, 1.0}  # 0 and 1/2, in halves
    assert found.at_least == 1.0
    assert found.threshold == 0.5


def test_thirds_leave_the_tie_to_the_model():
    """1/3 is no double: the model's own sum may fall on either side, so the inequality keeps the tie."""
    tree = ("X1", 1.0, (1 / 3, 2 / 3), (2 / 3, 1 / 3))
    _, found = row([tree] * 2, 1)
    assert found.whole
    assert found.at_least == 0.0


def test_values_without_a_small_denominator_stay_as_they_are():
    values = (float(np.pi) / 4, 1 - float(np.pi) / 4)
    ensemble, found = row([("X1", 1.0, values, values[::-1])], 1)
    assert not found.whole
    assert -1e-12 < found.at_least < 0.0
    assert found.slack == roundoff(ensemble, np.array([-1.0, 1.0]))


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.0, 1.0], 1),
        ([0.5, 0.25], 4),
        ([1 / 3], 3),
        ([1 / 3, 0.5], 6),
        ([np.pi], None),
        ([1 / 9973, 1 / 97], None),
    ],
)
def test_denominators(values, scale):
    assert _denominator(np.array(values)) == scale


def test_outright_needs_more_than_half():
    _, ensemble = folded([("X1", 1.0, 0, 1)] * 4)
    assert Requirement.wins(0, 2, outright=True).inequalities(ensemble)[0].at_least == 2.0


def test_outright_of_many_classes_is_more_than_half_of_all():
    requirement = Requirement.wins(1, 3, outright=True)
    assert requirement.weights.tolist() == [[-1.0, 1.0, -1.0]]
    assert requirement.strict.tolist() == [True]
    assert Requirement.wins(1, 2, outright=True).weights.tolist() == [[-1.0, 1.0]]


def test_three_classes_have_two_rows():
    requirement = Requirement.wins(1, 3)
    assert requirement.weights.tolist() == [[-1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    assert Requirement.none(3).weights.shape == (0, 3)


def test_a_sum_in_single_precision_is_not_taken_for_exact():
    """The same leaves, added by a model in floats of 24 bits: it may see a win where there is none."""
    trees = [("X1", 1.0, (0.0, 2.0**-27), (2.0**-27, 0.0))] * 2 + [(1.0, 1.0)]
    _, ensemble = folded(trees)
    double = Requirement.wins(1, 2).inequalities(ensemble)[0]
    single = Requirement.wins(1, 2).inequalities(replace(ensemble, roundoff=2.0**-24))[0]
    assert double.at_least == 2.0  # steps of two: both trees
    assert single.at_least <= -2.0  # any leaf will do, as far as such floats tell


def test_classes_that_are_no_doubles_leave_the_tie_to_the_model():
    """The difference of two classes is exact, but each of the model's own sums is rounded."""
    tree = ("X1", 1.0, (0.3, 0.3, 0.4), (1.0, 0.0, 0.0))
    _, ensemble = folded([tree] * 2, classes=3)
    assert Requirement.wins(1, 3).inequalities(ensemble)[0].at_least == 0.0
