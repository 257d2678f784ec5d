"""What the search costs besides its searching: ``python -m benchmarks.footprint``.

Three fresh processes: the first call on a machine (kernels are compiled), a later one (they are read from
numba's cache), and the peak memory of a forest of 500 trees of depth 10.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

CODE = """
import resource, sys
from time import perf_counter
started = perf_counter()
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
trees, depth, make = {trees}, {depth}, {make}
if make:
    X, y = make_classification(5000, 20, n_informative=10, random_state=0)
else:
    X, y = load_breast_cancer(return_X_y=True)
model = RandomForestClassifier(trees, max_depth=depth, random_state=0).fit(X, y)
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, perf_counter()
from polyflip import Explainer
answer = Explainer(model, X).counterfactual(X[0], solver="search", time_limit=60)
seconds = perf_counter() - began
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{{seconds:.2f}} s from importing polyflip to the answer ({{answer.status}}); "
      f"peak memory {{after / 1024:.0f}} MB, {{before / 1024:.0f}} MB of them before")
"""


def measured(cache: str, trees: int = 100, depth: int = 5, make: bool = False) -> str:
    """The line that a fresh process prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    code = CODE.format(trees=trees, depth=depth, make=make)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return run.stdout.strip() + (f"  [{run.stderr.strip()}]" if run.stderr.strip() else "")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        print("first call on a machine:", measured(cache))
        print("later processes:        ", min(measured(cache) for _ in range(3)))
        print("500 trees of depth 10:  ", measured(cache, 500, 10, True))
