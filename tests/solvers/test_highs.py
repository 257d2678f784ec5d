"""What general solvers get wrong, kept from coming back."""

import pytest
from test_brute_force import forest_case


def test_presolve_does_not_lose_the_optimum():
    """HiGHS 1.15.1 with presolve calls 0.517 the optimum of this program; it is 0.0506."""
    explainer = forest_case(30).explainer
    row = {"x1": 0.0, "x2": 0.012317992062651278}
    truth = explainer.counterfactual(row, target=7, distance="l1-range", solver="oracle")
    answer = explainer.counterfactual(row, target=7, distance="l1-range", solver="ilp")
    assert answer.status == truth.status == "optimal"
    assert answer.cost == pytest.approx(truth.cost, rel=1e-9)
