"""What general solvers get wrong, kept from coming back."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from polyflip import Explainer


def test_presolve_does_not_lose_the_optimum():
    """HiGHS 1.15.1 with presolve returned 0.517 as the proven optimum of such a program; it is 0.0506."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        data = np.round(rng.normal(size=(14, 2)), 2)
        data[:, 0] = data[:, 0] > 0
        labels = rng.integers(0, 2, 14)
        forest = RandomForestClassifier(7, max_depth=2, random_state=seed).fit(data, labels)
        explainer = Explainer(forest, data, vote="majority")
        for row in data[:4]:
            truth = explainer.counterfactual(row, distance="l1-range", solver="oracle")
            answer = explainer.counterfactual(row, distance="l1-range", solver="ilp")
            assert answer.status == truth.status
            assert answer.cost == pytest.approx(truth.cost, rel=1e-9)
