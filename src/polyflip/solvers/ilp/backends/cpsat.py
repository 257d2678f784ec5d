"""CP-SAT, in a process of its own (``pip install 'polyflip[ortools]'``).

OR-Tools and HiGHS cannot be imported into one process (an undefined symbol, in either order), so a child
does the solving; it is started at the first program and asked by lines of JSON.

CP-SAT knows whole numbers only.  Every column becomes a 0/1 variable.  Numbers that are not whole are
scaled, and rounded so that no point is lost: what a row may reach is rounded up, what it must reach
down, and prices down, so that the bound stays true.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np

from polyflip.core.space import Floats
from polyflip.errors import MissingDependencyError, SolverError
from polyflip.solvers.ilp.program import INF, Outcome, Program

__all__ = ["CpSatBackend"]

CHILD = "polyflip.solvers.ilp.backends.cpsat_child"
NEARLY = 1e-9  # by so much a limit of whole numbers may miss one
LARGEST = 2.0**50  # what sums of whole numbers stay below


class CpSatBackend:
    """CP-SAT with one worker."""

    name = "CP-SAT"

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._lock = Lock()  # one question at a time: rows may be asked on threads
        if find_spec("ortools") is None:
            raise MissingDependencyError("ortools", "ortools", "solver='cpsat'")

    def solve(self, program: Program, time_limit: float | None) -> Outcome:
        """Hand the program to the child, and read what it says."""
        question, unit = _whole(program)
        question["seconds"] = time_limit
        with self._lock:
            try:
                answer = self._ask(question)
            except BaseException:  # an answer that is still to come would be taken for the next question's
                self.close()
                raise
        if answer["status"] == "infeasible":
            return Outcome("infeasible", None, INF)
        values = None if answer["values"] is None else np.array(answer["values"], dtype=np.float64)
        bound = -INF if answer["bound"] is None else answer["bound"] * unit + program.objective.constant
        return Outcome(answer["status"], values, bound)

    def _ask(self, question: dict[str, object]) -> dict[str, Any]:
        if self._child is None or self._child.poll() is not None:
            self.close()
            self._child = subprocess.Popen(
                [sys.executable, "-m", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
            line = stdout.readline()
        except OSError as error:
            raise SolverError(f"the process of CP-SAT ended: {error}") from error
        if not line:
            raise SolverError("the process of CP-SAT ended without an answer")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SolverError(f"CP-SAT stopped: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def __del__(self) -> None:
        self.close()


def _whole(program: Program) -> tuple[dict[str, object], float]:
    """A program in whole numbers, and what a unit of its objective is worth."""
    rows = []
    for row in program.rows:
        values = np.array(list(row.terms.values()))
        whole = bool((values == np.rint(values)).all())
        scale = 1.0 if whole else _scale(values)
        columns = list(row.terms)
        if row.lower > -INF:
            least = int(np.ceil(row.lower - NEARLY) if whole else np.floor(row.lower * scale))
            rows.append((columns, np.ceil(values * scale).astype(int).tolist(), least, True))
        if row.upper < INF:
            most = int(np.floor(row.upper + NEARLY) if whole else np.ceil(row.upper * scale))
            rows.append((columns, np.floor(values * scale).astype(int).tolist(), most, False))
    prices = np.array(list(program.objective.terms.values()))
    scale = 1.0 if (prices == np.rint(prices)).all() else _scale(prices)
    return {
        "bounds": list(zip(map(int, program.lower), map(int, program.upper), strict=True)),
        "rows": rows,
        "objective": [list(program.objective.terms), np.floor(prices * scale).astype(int).tolist()],
    }, 1.0 / scale


def _scale(values: Floats) -> float:
    """The largest power of two by which a sum of these numbers stays small enough."""
    return float(2.0 ** np.floor(np.log2(LARGEST / (np.abs(values).sum() + 1.0))))
