"""Run a benchmark: ``python -m benchmarks.run PRESET``; results are lines of JSON, one per instance.

All contestants of an instance run one after the other, in one process on one core, with the same limit;
instances come in a fixed random order, so that a run that is ended by ``--minutes`` is a fair sample.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from time import perf_counter

CORE_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
for variable in CORE_VARIABLES:
    os.environ.setdefault(variable, "1")

from benchmarks.contestants import CONTESTANTS, warm_up  # noqa: E402
from benchmarks.instances import Instance, grid  # noqa: E402

RESULTS = Path(__file__).parent / "results"
ALL = list(CONTESTANTS)

PRESETS = {  # who takes part, and which instances
    "quick": (ALL, {"trees": (10, 100), "depths": (3, 5), "rows": 20}),
    "full": (ALL, {}),
    "search-100": (["search"], {"trees": (100,)}),
    "search-500": (["search"], {"trees": (500,), "depths": (5,)}),
    "sides": (ALL, {"trees": (100,), "depths": (5, 8), "conditions": (False, True)}),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a preset and leave its results in a file."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("preset", choices=PRESETS)
    parser.add_argument("--minutes", type=float, default=15.0, help="begin no instance after this time")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each contestant and instance")
    parser.add_argument("--most", type=int, default=None, help="instances at most")
    parser.add_argument("--only", nargs="+", choices=ALL, help="contestants, where not those of the preset")
    parser.add_argument("--data", nargs="+", help="data sets, where not all")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args(arguments)
    names, choice = PRESETS[options.preset]
    names = options.only or names
    if options.data:
        choice = {**choice, "data": tuple(options.data)}
    instances = sorted(grid(**choice))  # type: ignore[arg-type]
    random.Random(0).shuffle(instances)
    target = options.out or RESULTS / f"{options.preset}.jsonl"
    target.parent.mkdir(exist_ok=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warm_up(names)
    started = perf_counter()
    with target.open("w") as file:
        _write(file, _about(options, names))
        for number, instance in enumerate(islice(instances, options.most)):
            if perf_counter() - started > 60.0 * options.minutes:
                break
            line = _run(instance, names, options.limit)
            _write(file, line)
            shown = "  ".join(f"{name} {run['seconds']:.2f}{run['status'][0]}" for name, run in line["runs"])
            print(f"{number} {instance}: {shown}", file=sys.stderr)


def _run(instance: Instance, names: Sequence[str], limit: float) -> dict[str, object]:
    runs = []
    for name in names:
        try:
            run = CONTESTANTS[name](instance, limit)
        except Exception as error:  # a contestant that fails has failed, and the others go on
            runs.append((name, {"status": "error", "seconds": limit, "cost": None, "error": repr(error)}))
            continue
        if run is not None:
            runs.append((name, asdict(run)))
    return {"instance": asdict(instance), "runs": runs}


def _about(options: argparse.Namespace, names: Sequence[str]) -> dict[str, object]:
    """The command and the machine's kind."""
    return {
        "command": f"python -m benchmarks.run {options.preset}",
        "limit": options.limit,
        "minutes": options.minutes,
        "contestants": list(names),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one used",
        "python": platform.python_version(),
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in ("polyflip", "numba", "scikit-learn", "highspy", "pyscipopt", "ortools", "treecf"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _write(file: object, line: dict[str, object]) -> None:
    file.write(json.dumps(line) + "\n")  # type: ignore[attr-defined]
    file.flush()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
