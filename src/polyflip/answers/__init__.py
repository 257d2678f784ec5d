"""Answers: each builds one or more problems, and reads the solutions back into the user's words.

Why this room exists: solvers know cells and costs, users know columns and conditions.  An answer is
the thin layer between them, and the place where the model has the last word.
"""

from polyflip.answers.case import Case, Subject
from polyflip.answers.certificate import Certificate
from polyflip.answers.counterfactual import Counterfactual, counterfactual, program_of
from polyflip.answers.question import Question, question_of
from polyflip.answers.region import Change, Interval, Values
from polyflip.answers.robustness import Robustness, robustness
from polyflip.answers.sufficiency import Sufficiency, suffices
from polyflip.answers.sufficient import PrimeImplicant, prime_implicant

__all__ = [
    "Case",
    "Certificate",
    "Change",
    "Counterfactual",
    "Interval",
    "PrimeImplicant",
    "Question",
    "Robustness",
    "Subject",
    "Sufficiency",
    "Values",
    "counterfactual",
    "prime_implicant",
    "program_of",
    "question_of",
    "robustness",
    "suffices",
]
