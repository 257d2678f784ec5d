"""What a change of the search's constants does: ``python -m benchmarks.tuning STEPS=40 TRIALS=16,LOOK=4``.

Fifteen questions about breast cancer and a forest of 100 trees of depth 5, without conditions. Every
setting is run on all of them; with no setting, the constants stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from benchmarks.instances import Instance, prepare
from polyflip.solvers.search import SearchSolver, engine

__all__ = ["main"]

ROWS = {"l1-std": (0, 1, 4, 6, 8, 9), "rules-std": (0, 1, 4, 6, 8, 9), "l0": (0, 4, 8)}
LIMIT = 60.0


def instances() -> list[Instance]:
    """The instances, the same every time."""
    return [
        Instance("breast cancer", 100, 5, "model", distance, False, row)
        for distance, rows in ROWS.items()
        for row in rows
    ]


def main(settings: Sequence[str]) -> None:
    """Print a line for every setting: the sum, the geometric mean and the longest of all times."""
    problems = [prepare(each)[1] for each in instances()]
    SearchSolver().cheapest(problems[0], LIMIT)
    print("| setting | sum s | geometric mean s | longest s |\n|---|---|---|---|")
    for setting in settings or [""]:
        changed = dict(each.split("=") for each in setting.split(",") if each)
        before = {name: getattr(engine, name) for name in changed}
        for name, value in changed.items():
            setattr(engine, name, type(before[name])(value))
        times = []
        for problem in problems:
            started = perf_counter()
            SearchSolver().cheapest(problem, LIMIT)
            times.append(perf_counter() - started)
        for name, value in before.items():
            setattr(engine, name, value)
        mean = np.exp(np.mean(np.log(times)))
        print(f"| {setting or 'as it is'} | {sum(times):.1f} | {mean:.2f} | {max(times):.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
