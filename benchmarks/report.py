"""Tables and pictures from results: ``python -m benchmarks.report results/sides.jsonl`` prints Markdown.

A timeout, and an answer without proof, count as the limit.  The table says how often solvers disagree on
a proven cost, and how often a point does not flip the model.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Results", "main"]

EQUAL = 1e-6  # shares by which proven costs of general solvers may differ
PROVED = ("optimal", "infeasible")


@dataclass(frozen=True)
class Results:
    """A file of results: what was run, and per instance and contestant what came out."""

    about: dict[str, Any]
    instances: list[dict[str, Any]]
    runs: list[dict[str, dict[str, Any]]]

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read a file that ``benchmarks.run`` left."""
        about, *lines = [json.loads(line) for line in path.read_text().splitlines()]
        return cls(about, [line["instance"] for line in lines], [dict(line["runs"]) for line in lines])

    def of(self, trees: int | None) -> Results:
        """The results of forests of so many trees; all where none is named."""
        pairs = zip(self.instances, self.runs, strict=True)
        kept = [(each, runs) for each, runs in pairs if trees in (None, each["trees"])]
        return Results(self.about, [each for each, _ in kept], [runs for _, runs in kept])

    @property
    def limit(self) -> float:
        """Seconds that each contestant had."""
        return float(self.about["limit"])

    def seconds(self, run: dict[str, Any]) -> float:
        """The time of a proof; the limit where there was none."""
        return min(float(run["seconds"]), self.limit) if run["status"] in PROVED else self.limit

    def times(
        self, name: str, keep: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> np.ndarray[Any, Any]:
        """The times of a contestant on the instances it took part in."""
        pairs = zip(self.instances, self.runs, strict=True)
        return np.array([self.seconds(runs[name]) for each, runs in pairs if name in runs and keep(each)])


def summary(results: Results) -> list[str]:
    """A row per contestant: how many it proved, its times, and how much slower it is than the search."""
    lines = [
        "| solver | instances | proved | median s | mean s | longest s | geometric mean of time / search's | "
        "wrong points | ties |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in results.about["contestants"]:
        shared = [runs for runs in results.runs if name in runs]
        if not shared:
            continue
        times = results.times(name)
        proved = sum(runs[name]["status"] in PROVED for runs in shared)
        ratios = [results.seconds(runs[name]) / results.seconds(runs["search"]) for runs in shared]
        wrong = sum(runs[name].get("valid") is False for runs in shared)
        ties = sum(bool(runs[name].get("tie")) for runs in shared)
        lines.append(
            f"| {name} | {len(shared)} | {proved} ({proved / len(shared):.0%}) | {np.median(times):.2f} | "
            f"{times.mean():.2f} | {times.max():.2f} | {_geometric(ratios):.1f} | {wrong} | {ties} |"
        )
    return lines


def against_the_best(results: Results) -> str:
    """How much sooner the search is than whoever else was quickest, instance by instance."""
    ratios = []
    for runs in results.runs:
        others = [results.seconds(run) for name, run in runs.items() if name != "search"]
        if others:
            ratios.append(min(others) / results.seconds(runs["search"]))
    if not ratios:
        return ""
    return (
        f"Against the quickest other solver of each instance: geometric mean {_geometric(ratios):.1f}, "
        f"least {min(ratios):.2f}, over {len(ratios)} instances."
    )


def agreement(results: Results) -> str:
    """How often two contestants proved different things."""
    pairs = clashes = 0
    for runs in results.runs:
        proved = [run for run in runs.values() if run["status"] in PROVED]
        first = runs["search"]
        if first["status"] not in PROVED:
            continue
        for run in proved:
            if run is first:
                continue
            pairs += 1
            same = run["status"] == first["status"] and (
                run["status"] == "infeasible" or abs(run["cost"] - first["cost"]) <= EQUAL * first["cost"]
            )
            clashes += not same
    return f"Proofs compared with the search's: {pairs}; different: {clashes}."


def by_forest(results: Results, name: str = "search") -> list[str]:
    """The times of one contestant per number of trees and depth."""
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, each in enumerate(results.instances):
        groups[each["trees"], each["depth"] or 99].append(i)
    lines = [
        "| trees | depth | instances | proved | median s | 95 % s | longest s | median time / root's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (trees, depth), chosen in sorted(groups.items()):
        runs = [results.runs[i][name] for i in chosen if name in results.runs[i]]
        times = np.array([results.seconds(run) for run in runs])
        proved = sum(run["status"] in PROVED for run in runs)
        roots = [results.seconds(run) / run["root"] for run in runs if run.get("root")]
        lines.append(
            f"| {trees} | {'unlimited' if depth == 99 else depth} | {len(runs)} | {proved} | "
            f"{np.median(times):.3f} | {np.quantile(times, 0.95):.2f} | {times.max():.2f} | "
            f"{np.median(roots) if roots else float('nan'):.1f} |"
        )
    return lines


def plot(results: Results, path: Path) -> None:
    """A cactus plot, and time against the number of trees where it varies."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    trees = sorted({each["trees"] for each in results.instances})
    wide = 1 + (len(trees) > 1)
    figure, axes = plt.subplots(1, wide, figsize=(1 + 5 * wide, 4.2), squeeze=False)
    left = axes[0, 0]
    for name in results.about["contestants"]:
        times = np.sort(results.times(name))
        proved = times[times < results.limit]
        left.step(proved, np.arange(1, len(proved) + 1), where="post", label=f"{name} (of {len(times)})")
    left.set(xscale="log", xlabel="seconds", ylabel="instances proved", title="Proved within a time")
    left.legend(fontsize=8)
    if len(trees) > 1:
        right = axes[0, 1]
        for name in results.about["contestants"]:
            chosen = [results.times(name, lambda each, n=n: each["trees"] == n) for n in trees]
            medians = [np.median(times) if len(times) else np.nan for times in chosen]
            right.plot(trees, medians, marker="o", label=name)
        right.set(xscale="log", yscale="log", xlabel="trees", ylabel="median seconds")
        right.set_title("Time against trees")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a file of results as Markdown, and leave its picture beside it."""
    parser = argparse.ArgumentParser(prog="benchmarks.report", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--plot", type=Path, default=None)
    parser.add_argument("--trees", type=int, default=None, help="only forests of so many trees")
    options = parser.parse_args(arguments)
    results = Results.read(options.results).of(options.trees)
    about = results.about
    print(
        f"`{about['command']} --minutes {about['minutes']:g}`: {about['machine']}; Python {about['python']};"
    )
    print(", ".join(f"{package} {version}" for package, version in about["versions"].items()))
    print(f"\nLimit {results.limit:g} s; without a proof a run counts as the limit.\n")
    print("\n".join(summary(results)), "\n")
    print(against_the_best(results), agreement(results) if len(about["contestants"]) > 1 else "", "\n")
    print("\n".join(by_forest(results)))
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
