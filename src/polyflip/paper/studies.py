"""The models of the case studies, trained as the paper trained them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from polyflip.explainer import Explainer
from polyflip.features import Feature
from polyflip.paper.datasets import compas, lsat, votes

__all__ = ["compas_study", "lsat_study", "votes_study"]


@lru_cache
def compas_study() -> Explainer:
    """A decision tree on COMPAS; the features' names are the paper's."""
    from sklearn.tree import DecisionTreeClassifier

    data, target = compas()
    tree = DecisionTreeClassifier(random_state=0, max_depth=60)
    tree.fit(np.column_stack(list(data.values())), target)
    features = [
        Feature("sex", "binary", categories={0: "Female", 1: "Male"}),
        Feature("race", "binary", categories={0: "Caucasian", 1: "Black"}),
        Feature("two_year_recid", "binary", categories={0: "No", 1: "Yes"}),
    ]
    return Explainer(tree, data, features)


@lru_cache
def lsat_study(path: str | Path | None, download: bool) -> Explainer:
    """Five trees on the LSAC data under the paper's majority vote."""
    from sklearn.ensemble import RandomForestClassifier

    data, target = lsat(path, download)
    forest = RandomForestClassifier(n_estimators=5, max_depth=100, random_state=0)
    forest.fit(np.column_stack(list(data.values())), target)
    features = [Feature("gender", "binary", categories={0: "Female", 1: "Male"})]
    return Explainer(forest, data, features, vote="majority")


@lru_cache
def votes_study() -> Explainer:
    """Naive Bayes on the sixteen votes."""
    from sklearn.naive_bayes import CategoricalNB

    data, target = votes()
    model = CategoricalNB().fit(np.column_stack(list(data.values())), target)
    features = [Feature(name, "binary", categories={0: "-", 1: "+"}) for name in data]
    return Explainer(model, data, features)
