"""Robustness: the least weighted change that flips a decision (the paper's section 4.4)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from polyflip.answers import words
from polyflip.answers.counterfactual import Counterfactual
from polyflip.core import Status

__all__ = ["Robustness", "robustness"]


@dataclass(frozen=True, eq=False)
class Robustness:
    """How much must change before the decision does: ``cost``, and the counterfactual that shows it.

    The cost is infinite where nothing flips the decision.
    """

    status: Status
    cost: float
    bound: float
    distance: str
    counterfactual: Counterfactual

    def __float__(self) -> float:
        """The least cost of a flip."""
        return self.cost

    def to_dict(self) -> dict[str, object]:
        """Plain values, fit for JSON."""
        return {key: value for key, value in self.counterfactual.to_dict().items() if key != "region"}

    def to_json(self, indent: int | None = 2) -> str:
        """The robustness as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def _repr_html_(self) -> str:
        return self.counterfactual._repr_html_()

    def __str__(self) -> str:
        """The robustness in words."""
        if self.status is Status.INFEASIBLE:
            vote = words.counted(self.counterfactual.vote)
            return f"nothing flips {self.counterfactual.decision!r}{vote}: {self.counterfactual.reason}"
        if self.status is Status.OPTIMAL:
            return f"robustness {self.cost:.6g} ({self.distance}), proved: {self.counterfactual}"
        return f"robustness at least {self.bound:.6g} ({self.distance}): {self.counterfactual}"


def robustness(answer: Counterfactual) -> Robustness:
    """The robustness that a cheapest counterfactual shows."""
    return Robustness(answer.status, answer.cost, answer.bound, answer.distance, answer)
