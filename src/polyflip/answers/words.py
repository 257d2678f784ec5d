"""Answers in words: the text and the small HTML table of each, with everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from polyflip.answers.region import shown
from polyflip.core import Status
from polyflip.frames import plain

if TYPE_CHECKING:
    from polyflip.answers.counterfactual import Counterfactual
    from polyflip.answers.sufficiency import Sufficiency
    from polyflip.answers.sufficient import PrimeImplicant

__all__ = [
    "counted",
    "counterfactual",
    "counterfactual_html",
    "finite",
    "given",
    "prime_implicant",
    "prime_implicant_html",
    "sufficiency",
    "sufficiency_html",
]


def finite(value: float) -> float | None:
    """A number as JSON knows it: infinity is None."""
    return value if np.isfinite(value) else None


def counterfactual(answer: Counterfactual) -> str:
    """A counterfactual as a few lines of text."""
    lines = [_headline(answer)]
    lines += [f"  {change}" for change in answer.changes]
    if answer.conditions:
        lines.append(f"  under: {' and '.join(answer.conditions)}")
    return "\n".join([*lines, *_noted(answer.notes)])


def _noted(notes: Sequence[str]) -> list[str]:
    return [f"  note: {note}" for note in notes]


def counted(vote: str) -> str:
    """How the decision was counted, where that is not what the model's own predict does."""
    return " (majority vote)" if vote == "majority" else ""


def _headline(answer: Counterfactual) -> str:
    target = "anything else" if answer.target is None else shown(answer.target)
    flip = f"{shown(answer.decision)} -> {target}{counted(answer.vote)}"
    if answer.status is Status.INFEASIBLE:
        return f"{flip}: impossible (proved): {answer.reason}"
    if answer.status is Status.UNKNOWN:
        return (
            f"{flip}: nothing found in {answer.seconds:.1f} s; nothing cheaper than {answer.bound:.6g} exists"
        )
    proof = (
        "optimal (proved)"
        if answer.status is Status.OPTIMAL
        else f"feasible, nothing cheaper than {answer.bound:.6g} exists"
    )
    return f"{flip} by {_count(len(answer.changes))}, cost {answer.cost:.6g} ({answer.distance}), {proof}"


def _count(changes: int) -> str:
    return "1 change" if changes == 1 else f"{changes} changes"


def counterfactual_html(answer: Counterfactual) -> str:
    """A counterfactual as a small table: factual, counterfactual and region per feature that changes."""
    head = f"<p><b>{escape(_headline(answer))}</b></p>"
    rows = [
        [change.feature, shown(change.before), shown(change.after), str(answer.region[change.feature])]
        for change in answer.changes
    ]
    table = _table(["feature", "factual", "counterfactual", "anything in"], rows) if rows else ""
    under = f"<p>under: {escape(' and '.join(answer.conditions))}</p>" if answer.conditions else ""
    return f"<div>{head}{table}{under}{_noted_html(answer.notes)}</div>"


def _noted_html(notes: Sequence[str]) -> str:
    return "".join(f"<p><small>{escape(note)}</small></p>" for note in notes)


def prime_implicant(answer: PrimeImplicant) -> str:
    """A prime implicant as a sentence, and what there is to note."""
    notes = answer.notes[1:] if answer.status is Status.INFEASIBLE else answer.notes
    return "\n".join([_sentence(answer), *_noted(notes)])


def _sentence(answer: PrimeImplicant) -> str:
    if answer.status is Status.UNKNOWN:
        return f"no sufficient set of features was found in {answer.seconds:.1f} s"
    if answer.status is Status.INFEASIBLE:
        return f"no set of features is sufficient: {answer.notes[0]}"
    held = " and ".join(f"{name} = {shown(value)}" for name, value in answer.values.items())
    subject = f"As long as {held}, the decision" if held else "The decision"
    certainty = {
        True: "stays {}, whatever the other features are" + given(answer.given),
        False: "is {} here, but holding this is NOT enough: some other values of the rest change it",
        None: "stays {} when all other features change at once; whether it always does was not verified",
    }[answer.sufficient]
    sentence = f"{subject} {certainty.format(shown(answer.decision) + counted(answer.vote))}"
    return f"{sentence} ({_count_features(len(answer.features))}, {_kind(answer)})."


def sufficiency(answer: Sufficiency) -> str:
    """A verdict on some features as a sentence, and what there is to note."""
    return "\n".join([_verdict(answer), *_noted(answer.notes)])


def _verdict(answer: Sufficiency) -> str:
    held = " and ".join(answer.features) or "nothing"
    verdict = {True: "is enough", False: "is not enough", None: "may or may not be enough (out of time)"}
    decision = f"{answer.decision}{counted(answer.vote)}{given(answer.conditions)}"
    return f"holding {held} {verdict[answer.sufficient]} for {decision}"


def sufficiency_html(answer: Sufficiency) -> str:
    """A verdict on some features as its sentence, and the counterexample as a small table."""
    seen = answer.counterexample or {}
    table = _table(["column", "counterexample"], [[c, shown(plain(value))] for c, value in seen.items()])
    head = f"<p><b>{escape(_verdict(answer))}</b></p>"
    return f"<div>{head}{table if seen else ''}{_noted_html(answer.notes)}</div>"


def given(conditions: tuple[str, ...]) -> str:
    """The conditions under which something is said, as the end of a sentence."""
    return f" (given {', '.join(conditions)})" if conditions else ""


def _count_features(count: int) -> str:
    return "1 feature" if count == 1 else f"{count} features"


def _kind(answer: PrimeImplicant) -> str:
    if answer.method == "minimal":
        return "none can be dropped" if answer.status is Status.OPTIMAL else "not reduced to the end"
    if answer.method == "flip":
        proved = "proved" if answer.status is Status.OPTIMAL else "not proved"
        return f"the paper's largest simultaneous change, {proved}"
    if answer.status is Status.OPTIMAL:
        return f"least weight {answer.weight:g}, proved"
    return f"weight {answer.weight:g}, at least {answer.bound:g} is needed"


def prime_implicant_html(answer: PrimeImplicant) -> str:
    """A prime implicant as its sentence and a small table."""
    rows = [[name, shown(value)] for name, value in answer.values.items()]
    table = _table(["feature", "value"], rows) if rows else ""
    return f"<div><p><b>{escape(_sentence(answer))}</b></p>{table}{_noted_html(answer.notes)}</div>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
