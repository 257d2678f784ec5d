"""Tables 1 to 6 as the paper prints them.

A changed cell is written as printed (``> 21.5``, ``<= 19.5``, a label), an unchanged one is None.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHANGES", "VOTES", "Changed", "Votes"]


@dataclass(frozen=True)
class Changed:
    """A factual with its printed counterfactual and diverse counterfactual (tables 1, 2, 4 and 5)."""

    factual: tuple[object, ...]
    outcome: str
    plain: dict[str, str]
    condition: str
    diverse: dict[str, str]
    misprint: str = ""


@dataclass(frozen=True)
class Votes:
    """A congressman's sixteen votes with the printed prime implicants (tables 3 and 6)."""

    votes: str
    outcome: str
    plain: tuple[int, ...]
    conditional: tuple[int, ...]


# The values are sex, age, race, juvenile felonies, prior crimes and two-year recidivism, where
# men and African-Americans are coded as one.
_COMPAS_1 = (
    Changed((1, 33, 0, 0, 2, 1), "Low", {"juv_fel_count": "> 0"}, "juv_fel_count == 0", {"sex": "Female"}),
)
_COMPAS_4 = (
    Changed((1, 21, 1, 0, 0, 1), "High", {"age": "<= 19.5"}, "age > 20", {"age": "> 21.5"}),
    Changed((1, 27, 1, 0, 0, 0), "Low", {"priors_count": "> 4.5"}, "juv_fel_count == 0", {"age": "< 21.5"}),
    Changed(
        (1, 32, 1, 0, 0, 0),
        "Low",
        {"priors_count": "> 1.5"},
        "juv_fel_count <= 1",
        {"race": "Caucasian", "juv_fel_count": ">= 1"},
        "the paper prints age 27 in the counterfactual's row, not in bold: a misprint for 32",
    ),
    Changed((1, 43, 0, 0, 2, 0), "Low", {"sex": "Female"}, "sex == 'Male'", {"priors_count": "> 4"}),
)
# The values are gender (men are coded as one), lsat, race and ugpa.
_LSAT_2 = (
    Changed(
        (1, 34.0, "white", 3.0), "Pass", {"lsat": "< 19.25"}, "lsat > 25", {"race": "black", "ugpa": "< 1.95"}
    ),
)
_LSAT_5 = (
    Changed(
        (1, 36.5, "white", 3.2),
        "Pass",
        {"lsat": "<= 20.75", "race": "black", "ugpa": "<= 1.95"},
        "race == 'white'",
        {"lsat": "<= 19.25", "ugpa": "<= 2.15"},
        "the paper prints bold 20.75, 19.25 and 2.15 without a sign; read as <=",
    ),
    Changed(
        (0, 43.0, "white", 2.8),
        "Pass",
        {"lsat": "<= 26.75"},
        "race == 'white'",
        {"lsat": "<= 19.25", "ugpa": "<= 2.15"},
    ),
    Changed(
        (1, 35.0, "white", 2.7),
        "Pass",
        {"race": "black", "ugpa": "<= 1.95"},
        "race == 'white'",
        {"lsat": "<= 19.25"},
    ),
    Changed(
        (1, 33.0, "white", 3.0),
        "Pass",
        {"race": "black", "ugpa": "<= 1.85"},
        "race == 'white'",
        {"lsat": "<= 19.25"},
    ),
)
_VOTES_3 = (Votes("+++---+++-+---++", "Democrat", (3, 4, 5, 14), (1, 4, 5, 11, 14)),)
_VOTES_6 = (
    Votes("++-+++---+-+-+-+", "Republican", (4, 5, 12, 13, 14), (1, 3, 4, 5, 6, 8, 14)),
    Votes("+-+----+++----++", "Democrat", (4, 5, 14), (1, 3, 4, 5)),
    Votes("---+++-----+++-+", "Republican", (4, 5, 9, 13, 14, 15), (1, 3, 4, 5, 13, 14)),
    Votes("--+--++++++---++", "Democrat", (4, 5, 14), (1, 3, 4, 5, 14)),
)

CHANGES: dict[int, tuple[Changed, ...]] = {1: _COMPAS_1, 2: _LSAT_2, 4: _COMPAS_4, 5: _LSAT_5}
VOTES: dict[int, tuple[Votes, ...]] = {3: _VOTES_3, 6: _VOTES_6}
