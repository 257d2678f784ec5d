"""The data of the case studies: shipped, read from a path, or refused with the reason."""

import gzip
import io
import urllib.request
from pathlib import Path
from urllib.error import URLError

import pytest

from polyflip.errors import InputError
from polyflip.paper import datasets

LSAT = Path(__file__).parents[3] / "shared" / "data" / "lsat.csv.gz"
needs_lsat = pytest.mark.skipif(
    not LSAT.is_file(), reason="the LSAT data may not be committed; it lies beside"
)


def raw_file():
    """The original file's shape: more columns, rows with other races and with gaps."""
    lines = gzip.decompress(LSAT.read_bytes()).decode().splitlines()
    head = lines[0] + ",fam_inc"
    extra = ["female,other,30.0,3.0,1,4", "male,white,,3.0,1,4", ",white,30.0,3.0,1,2"]
    return "\n".join([head, *extra, *(line + ",3" for line in lines[1:])]).encode()


@needs_lsat
def test_lsat_from_a_path_and_from_the_original_file(tmp_path):
    data, target = datasets.lsat(LSAT)
    assert len(target) == 21979
    original = tmp_path / "bar_pass_prediction.csv"
    original.write_bytes(raw_file())
    again, labels = datasets.lsat(original)
    assert all((again[name] == data[name]).all() for name in data)
    assert (labels == target).all()


@needs_lsat
def test_lsat_download_is_checked(monkeypatch):
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(raw_file()))
    assert len(datasets.lsat(download=True)[1]) == 21979
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(raw_file()[:-400]))
    with pytest.raises(InputError, match="another file"):
        datasets.lsat(download=True)


def test_lsat_offline_is_a_clear_error(monkeypatch):
    def offline(*_, **__):
        raise URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    with pytest.raises(InputError, match=r"could not be downloaded from https://.*no network"):
        datasets.lsat(download=True)


def test_lsat_wrong_files(tmp_path):
    with pytest.raises(InputError, match="no file"):
        datasets.lsat(tmp_path / "none.csv")
    with pytest.raises(InputError, match="ask for the download"):
        datasets.lsat()
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="lacks the columns"):
        datasets.lsat(wrong)
    wrong.write_text("gender,race1,lsat,ugpa,pass_bar\nmale,white,30,3.1,1\n")
    with pytest.raises(InputError, match="another file"):
        datasets.lsat(wrong)
