"""The benchmark's harness on one small instance: it runs, agrees with itself, and reports."""

import json

import pytest
from benchmarks import report, run
from benchmarks.data import DATA, load
from benchmarks.instances import Instance, grid, prepare


def test_a_run_leaves_results_that_the_report_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.delattr("os.sched_setaffinity", raising=False)
    small = {"data": ("votes",), "trees": (10,), "depths": (3,), "distances": ("l0",), "rows": 2}
    monkeypatch.setitem(run.PRESETS, "small", (["search", "HiGHS tight", "HiGHS paper"], small))
    target = tmp_path / "small.jsonl"
    run.main(["small", "--out", str(target)])
    about, *lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert about["contestants"] == ["search", "HiGHS tight", "HiGHS paper"]
    assert len(lines) == 8
    for line in lines:
        runs = dict(line["runs"])
        assert {each["status"] for each in runs.values()} == {"optimal"}
        assert all(each["valid"] for each in runs.values())
        assert runs["search"]["cost"] == pytest.approx(runs["HiGHS paper"]["cost"])
    capsys.readouterr()
    report.main([str(target)])
    printed = capsys.readouterr().out
    assert "| search | 8 | 8 (100%) |" in printed
    assert "different: 0" in printed


def test_a_contestant_that_fails_is_reported_and_the_others_go_on(monkeypatch):
    def fails(_instance, _limit):
        raise ValueError("no")

    monkeypatch.setitem(run.CONTESTANTS, "broken", fails)
    instance = next(grid(data=("votes",), trees=(10,), depths=(3,)))
    runs = dict(run._run(instance, ["broken", "search"], 60.0)["runs"])
    assert runs["broken"]["status"] == "error"
    assert runs["search"]["status"] == "optimal"


@pytest.mark.parametrize("name", sorted(DATA))
def test_every_table_has_its_conditions(name):
    try:
        load(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    question, problem = prepare(Instance(name, 10, 3, "model", "l1-std", True, 0))
    assert question.conditions
    assert problem.domain.count < problem.space.everything().count
