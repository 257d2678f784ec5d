"""General solvers other than HiGHS against brute force and the search; each where it is installed."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyflip.core import Status
from polyflip.errors import MissingDependencyError, SolverError
from polyflip.solvers import solver_named
from polyflip.solvers.ilp.backends import backend_named
from polyflip.solvers.ilp.program import Expression, Program
from polyflip.solvers.oracle import OracleSolver
from polyflip.solvers.search import SearchSolver
from trees import random_problem

SWEEP = int(os.environ.get("POLYFLIP_SWEEP", "0"))
PACKAGE = {"scip": "pyscipopt", "cpsat": "ortools", "gurobi": "gurobipy"}
installed = [
    pytest.param(
        name,
        marks=[
            pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed"),
            pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of SWIG, inside gurobipy and ortools
        ],
    )
    for name, package in PACKAGE.items()
]
SOLVERS = {}


def solver(name, encoding="tight"):
    """One solver per name: CP-SAT keeps its child."""
    return SOLVERS.setdefault((name, encoding), solver_named(name, encoding))


@pytest.mark.parametrize("name", installed)
@pytest.mark.parametrize("encoding", ["tight", "paper"])
@given(seed=st.integers(0, 2**32 - 1), whole=st.booleans(), classes=st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_every_back_end_agrees_with_brute_force(name, encoding, seed, whole, classes):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 5)), int(rng.integers(1, 6)), classes, whole)
    truth, answer = OracleSolver().cheapest(problem), solver(name, encoding).cheapest(problem)
    assert answer.status is truth.status
    if truth.cells is not None:
        assert problem.meets(answer.cells)
        assert answer.cost == pytest.approx(truth.cost, rel=1e-9, abs=1e-9)
        second = problem.cost.rank(truth.cells)[1]
        assert problem.cost.rank(answer.cells)[1] == pytest.approx(second, abs=1e-6)


@pytest.mark.parametrize("name", installed)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=max(15, SWEEP // 100), deadline=None)
def test_every_back_end_agrees_with_the_search_on_larger_problems(name, seed):
    problem = random_problem(np.random.default_rng(seed), 12, 12, 2)
    search, other = SearchSolver().cheapest(problem), solver(name).cheapest(problem)
    assert search.status is other.status
    if search.cells is not None:
        assert search.cost == pytest.approx(other.cost, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", installed)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_every_back_end_finds_the_highest_score(name, seed):
    rng = np.random.default_rng(seed)
    problem, weights = random_problem(rng, 3, 4), rng.normal(size=2)
    truth, answer = (each.extreme(problem, weights) for each in (OracleSolver(), solver(name)))
    assert answer.status is truth.status
    if truth.cells is not None:
        assert answer.value == pytest.approx(truth.value, abs=1e-7)
        assert answer.bound >= truth.value - 1e-7


@pytest.mark.parametrize("name", installed)
def test_no_time_means_nothing_is_known(name):
    problem = random_problem(np.random.default_rng(5), 4, 5)
    assert solver(name).cheapest(problem, time_limit=0.0).status is Status.UNKNOWN


@pytest.mark.parametrize("name", ["ilp", *installed])
def test_a_program_comes_out_the_same_from_every_back_end(name):
    program = Program()
    x, y = program.column("x", integer=True), program.column("y", integer=True)
    program.row("one of them", "demand", Expression(0.0, {x: 0.3, y: 0.7}), lower=0.25)
    program.row("not both", "demand", Expression(0.0, {x: 1.0, y: 1.0}), upper=1.0)
    program.minimise(Expression(2.0, {x: 1.5, y: 0.25}))
    outcome = program.solve(backend=backend_named(name))
    assert outcome.status == "optimal"
    assert outcome.bound == pytest.approx(2.25)
    assert outcome.values == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(("name", "package"), PACKAGE.items())
def test_a_back_end_that_is_missing_names_its_extra(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    if name == "cpsat":
        monkeypatch.setattr("polyflip.solvers.ilp.backends.cpsat.find_spec", lambda _: None)
    extra = "ortools" if name == "cpsat" else name
    with pytest.raises(MissingDependencyError, match=rf"polyflip\[{extra}\]"):
        solver_named(name).cheapest(random_problem(np.random.default_rng(5), 4, 5))


@pytest.mark.skipif(find_spec("ortools") is None, reason="ortools is not installed")
def test_cp_sat_runs_in_a_child_and_a_child_that_dies_is_an_error():
    problem = random_problem(np.random.default_rng(3), 4, 5)
    cpsat = solver_named("cpsat")
    answer = cpsat.cheapest(problem)
    assert answer.solver == "CP-SAT (tight)"
    assert answer.cost == pytest.approx(OracleSolver().cheapest(problem).cost)
    assert not any(module.startswith("ortools.sat") for module in sys.modules)
    child = cpsat.backend._child
    child.kill()
    child.wait()
    assert cpsat.cheapest(problem).cost == pytest.approx(answer.cost)  # a new one is started
    said = cpsat.backend._ask({"bounds": [[0, 1]], "rows": [], "objective": [[0], [1]], "seconds": None})
    assert said["status"] == "optimal"
    with pytest.raises(SolverError, match="CP-SAT stopped: KeyError"):
        cpsat.backend._ask({"bounds": []})
    cpsat.backend.close()


@pytest.mark.skipif(find_spec("ortools") is None, reason="ortools is not installed")
def test_cp_sat_answers_each_thread_its_own_question():
    problems = [random_problem(np.random.default_rng(seed), 3, 4) for seed in range(24)]
    cpsat = solver_named("cpsat")
    with ThreadPoolExecutor(2) as pool:
        costs = [answer.cost for answer in pool.map(cpsat.cheapest, problems)]
    assert costs == pytest.approx([OracleSolver().cheapest(problem).cost for problem in problems])
    cpsat.backend.close()


@pytest.mark.skipif(find_spec("ortools") is None, reason="ortools is not installed")
def test_highs_and_cp_sat_live_in_one_program():
    code = (
        "import numpy as np, sys; sys.path.insert(0, 'tests')\n"
        "from trees import random_problem\n"
        "from polyflip.solvers import solver_named\n"
        "problem = random_problem(np.random.default_rng(3), 4, 5)\n"
        "costs = [solver_named(name).cheapest(problem).cost for name in ('ilp', 'cpsat', 'ilp')]\n"
        "assert max(costs) - min(costs) < 1e-9, costs\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
