"""The command line: what it prints, and what it says when something is missing."""

import json
import pickle
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from skops import io
from typer.testing import CliRunner

from polyflip import Explainer, cli
from polyflip.cli.app import app

RUN = CliRunner()


def test_paper_table_as_text():
    result = RUN.invoke(app, ["paper", "--table", "1"])
    assert result.exit_code == 0
    assert "> 0.5" in result.output
    assert "2 of 2 printed rows and 12 of 12 printed cells agree." in result.output


def test_paper_as_json():
    result = RUN.invoke(app, ["paper", "--table", "3", "--json"])
    (study,) = json.loads(result.output)
    assert study["table"] == 3
    assert study["instances"][0]["rows"][0]["row"] == "Prime implicants"


def test_paper_all_tables_without_lsat_says_how_to_get_it():
    result = RUN.invoke(app, ["paper"])
    assert result.exit_code == 0
    assert result.output.count("--lsat PATH") == 2


def test_missing_file_is_one_line():
    code = "import sys; sys.argv = ['polyflip', 'paper', '--table', '2', '--lsat', 'nowhere.csv']\n"
    run = subprocess.run(
        [sys.executable, "-c", code + "from polyflip.cli import main; main()"], capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr.strip() == "polyflip: the LSAT data: there is no file 'nowhere.csv'"


def test_version():
    from polyflip import __version__

    assert RUN.invoke(app, ["--version"]).output.strip() == f"polyflip {__version__}"


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_the_door_says_what_to_install(monkeypatch, package):
    monkeypatch.delitem(sys.modules, "polyflip.cli.app")
    monkeypatch.delattr(cli, "app", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    if package == "rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(SystemExit, match=r"polyflip\[cli\]"):
        cli.main()


# -- polyflip check --------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
TABLE = {"age": RNG.integers(18, 70, 200), "income": np.round(RNG.normal(30, 8, 200), 2)}
ROWS = np.column_stack(list(TABLE.values()))
FOREST = RandomForestClassifier(5, max_depth=4, random_state=0).fit(
    ROWS, (ROWS[:, 0] > 40) & (ROWS[:, 1] > 28)
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate, the model as a skops file and as a pickle, another model, and the data."""
    folder = tmp_path_factory.mktemp("check")
    answer = Explainer(FOREST, TABLE).counterfactual(ROWS[0], where="age unchanged")
    answer.certificate.save(folder / "answer.cert")
    replace(answer.certificate, cost=answer.cost * 1.01).save(folder / "dear.cert")
    (folder / "broken.cert").write_bytes(b"PK and nothing more")
    io.dump(FOREST, folder / "model.skops")
    (folder / "model.pkl").write_bytes(pickle.dumps(FOREST))
    io.dump(
        RandomForestClassifier(5, max_depth=4, random_state=1).fit(ROWS, ROWS[:, 0] > 40),
        folder / "other.skops",
    )
    table = pd.DataFrame(TABLE)
    table.assign(more="words")[["more", "income", "age"]].to_csv(folder / "data.csv", index=False)
    table.assign(income=table.income * 2).to_csv(folder / "wrong.csv", index=False)
    table[["age"]].to_csv(folder / "narrow.csv", index=False)
    table.astype(str).assign(age="old").to_csv(folder / "words.csv", index=False)
    table.iloc[:0].to_csv(folder / "empty.csv", index=False)
    (folder / "model.txt").write_text("a model")
    return folder


def checked(folder, *arguments):
    return RUN.invoke(app, ["check", *(str(folder / each) if "." in each else each for each in arguments)])


def stopped(monkeypatch, folder, *arguments):
    """What the door says as it closes; a text is printed on stderr, and the exit code is then 1."""
    names = [str(folder / each) if "." in each else each for each in arguments]
    monkeypatch.setattr(sys, "argv", ["polyflip", "check", *names])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert isinstance(stop.value.code, str)
    assert stop.value.code.startswith("polyflip: ")
    assert "\n" not in stop.value.code
    return stop.value.code


def test_check_confirms_with_the_model_alone(files):
    result = checked(files, "answer.cert", "model.skops")
    assert result.exit_code == 0
    assert result.output.startswith("confirmed: nothing cheaper than ")
    assert "under: age unchanged" in result.output
    assert "note: the prices are the certificate's own" in result.output


def test_check_works_the_prices_out_from_the_data(files):
    result = checked(files, "answer.cert", "model.skops", "--data", "data.csv")
    assert result.exit_code == 0
    assert "confirmed: " in result.output
    assert "note" not in result.output


def test_check_loads_a_pickle_only_when_trusted(files, monkeypatch):
    assert checked(files, "answer.cert", "model.pkl", "--trust").exit_code == 0
    assert checked(files, "answer.cert", "model.pkl").exit_code != 0
    assert "--trust" in stopped(monkeypatch, files, "answer.cert", "model.pkl")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("dear.cert", "model.skops"), "refused: .*does not reach the cost"),
        (("answer.cert", "other.skops"), "refused: "),
        (("answer.cert", "model.skops", "--data", "wrong.csv"), "refused: the prices are not those"),
        (("answer.cert", "model.skops", "--data", "narrow.csv"), "narrow.csv.*no column 'income'"),
        (("answer.cert", "model.skops", "--data", "words.csv"), "age"),
        (("answer.cert", "model.skops", "--data", "empty.csv"), "refused|no rows"),
        (("answer.cert", "model.skops", "--data", "none.csv"), "none.csv"),
        (("answer.cert", "model.skops", "--data", "model.pkl"), "model.pkl"),
        (("broken.cert", "model.skops"), "broken.cert.* no certificate"),
        (("none.cert", "model.skops"), "none.cert.* cannot be read"),
        (("model.skops", "model.skops"), "model.skops"),
        (("answer.cert", "none.skops"), "no model file"),
        (("answer.cert", "model.txt"), "a model file ends in"),
        (("answer.cert", "answer.cert"), "a model file ends in"),
    ],
)
def test_check_says_in_one_line_why_it_refuses(files, monkeypatch, arguments, reason):
    assert checked(files, *arguments).exit_code != 0
    assert re.search(reason, stopped(monkeypatch, files, *arguments))


def test_check_leaves_by_the_right_door(files):
    code = "from polyflip.cli import main; main()"
    command = [sys.executable, "-c", code, "check", files / "dear.cert", files / "model.skops"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("polyflip: refused: ")
