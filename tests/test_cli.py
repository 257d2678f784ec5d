"""The command line: what it prints, and what it says when something is missing."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from polyflip import cli
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
