"""polyflip: exact, proved explanations of what tree ensembles and Bayesian classifiers decide.

What is the least that must change for this decision to flip?  What is enough for it to stand?

>>> import polyflip
>>> polyflip.Explainer  # doctest: +ELLIPSIS
<class 'polyflip.explainer.Explainer'>
"""

from importlib.metadata import version as _version

from polyflip.answers import (
    Certificate,
    Change,
    Counterfactual,
    Interval,
    PrimeImplicant,
    Robustness,
    Sufficiency,
    Values,
)
from polyflip.certify import Confirmation, check
from polyflip.core import Status
from polyflip.distances import DISTANCES
from polyflip.errors import (
    CertificateError,
    ConditionError,
    FeatureError,
    InputError,
    MissingDependencyError,
    ModelError,
    PolyflipError,
    SolverError,
    TooLargeError,
)
from polyflip.explainer import Explainer
from polyflip.features import Feature
from polyflip.polynomials import DecisionPolynomial, decision_polynomial
from polyflip.solvers.ilp import Program

__version__ = _version("polyflip")

__all__ = [
    "DISTANCES",
    "Certificate",
    "CertificateError",
    "Change",
    "ConditionError",
    "Confirmation",
    "Counterfactual",
    "DecisionPolynomial",
    "Explainer",
    "Feature",
    "FeatureError",
    "InputError",
    "Interval",
    "MissingDependencyError",
    "ModelError",
    "PolyflipError",
    "PrimeImplicant",
    "Program",
    "Robustness",
    "SolverError",
    "Status",
    "Sufficiency",
    "TooLargeError",
    "Values",
    "__version__",
    "check",
    "decision_polynomial",
]
