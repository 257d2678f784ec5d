"""The data of the case studies: COMPAS and votes ship with the package, LSAT is read or fetched."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np

from polyflip.errors import InputError
from polyflip.frames import Column

__all__ = ["compas", "lsat", "votes"]

LSAT_ADDRESS = "https://storage.googleapis.com/lawschool_dataset/bar_pass_prediction.csv"
LSAT_DIGEST = "84a635cc7de12a92d81747e94ec703e8ec6c97e37fc0d291a969d088b0c43483"
LSAT_RACES = ("white", "hisp", "asian", "black")
LSAT_LARGEST = 50_000_000

Data = tuple[dict[str, Column], Column]


def compas() -> Data:
    """ProPublica's two-year recidivism data as the paper's tree saw it: 6,150 rows, high score or not.

    >>> data, target = compas()
    >>> len(target), list(data)[:3]
    (6150, ['sex', 'age', 'race'])
    """
    rows = _shipped("compas.csv.gz")
    data = {
        "sex": np.array([int(row["sex"] == "Male") for row in rows]),
        "age": np.array([int(row["age"]) for row in rows]),
        "race": np.array([int(row["race"] == "African-American") for row in rows]),
    }
    for name in ("juv_fel_count", "priors_count", "two_year_recid"):
        data[name] = np.array([int(row[name]) for row in rows])
    return data, np.array([int(row["score_text"] != "Low") for row in rows])


def votes() -> Data:
    """The congressional voting records of 1984: the 232 complete rows, democrat = 1.

    >>> data, target = votes()
    >>> len(target), len(data)
    (232, 16)
    """
    rows = [row for row in _shipped("votes.csv") if "?" not in row.values()]
    names = [name for name in rows[0] if name != "Party"]
    data = {name: np.array([int(row[name] == "y") for row in rows]) for name in names}
    return data, np.array([int(row["Party"] == "democrat") for row in rows])


def lsat(path: str | Path | None = None, download: bool = False) -> Data:
    """The LSAC bar passage data (21,979 rows), from a file or from its public address.

    It may not be shipped.  ``path`` is ``bar_pass_prediction.csv`` or a table with its columns gender,
    race1, lsat, ugpa and pass_bar; the rows that remain must have the known checksum.
    """
    if path is not None:
        source = Path(path)
        if not source.is_file():
            raise InputError(f"the LSAT data: there is no file {str(source)!r}")
        raw = source.read_bytes()
    elif download:
        raw = _fetched(LSAT_ADDRESS)
    else:
        raise InputError("the LSAT data may not be shipped: give its path, or ask for the download")
    return _lsat_columns(_lsat_rows(raw))


def _shipped(name: str) -> list[dict[str, str]]:
    return _rows(files("polyflip.paper").joinpath("files", name).read_bytes())


def _rows(raw: bytes) -> list[dict[str, str]]:
    if raw[:2] == b"\x1f\x8b":
        with gzip.open(io.BytesIO(raw)) as stream:
            raw = stream.read(LSAT_LARGEST)
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8", "replace"))))


def _fetched(address: str) -> bytes:
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(address, timeout=60) as answer:
            raw: bytes = answer.read(LSAT_LARGEST)
    except (URLError, OSError) as error:
        raise InputError(f"the LSAT data could not be downloaded from {address}: {error}") from error
    return raw


def _lsat_rows(raw: bytes) -> list[tuple[str, str, float, float, int]]:
    """The rows that the paper's forest saw, checked against their digest."""
    table = _rows(raw)
    wanted = ("gender", "race1", "lsat", "ugpa", "pass_bar")
    lacking = [name for name in wanted if not table or name not in table[0]]
    if lacking:
        raise InputError(f"the LSAT data: the file lacks the columns {lacking}")
    rows = list(_complete(table, wanted))
    text = "".join(f"{g},{r},{score:g},{gpa:g},{passed}\n" for g, r, score, gpa, passed in rows)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest != LSAT_DIGEST:
        raise InputError(
            f"the LSAT data: {len(rows)} usable rows with checksum {digest[:12]}..., expected 21,979 rows "
            f"with {LSAT_DIGEST[:12]}...: this is another file"
        )
    return rows


def _complete(
    table: Iterable[Mapping[str, str]], wanted: tuple[str, ...]
) -> Iterable[tuple[str, str, float, float, int]]:
    for row in table:
        gender, race, score, gpa, passed = (str(row[name] or "").strip() for name in wanted)
        if gender in ("male", "female") and race in LSAT_RACES and score and gpa and passed:
            yield gender, race, float(score), float(gpa), int(float(passed))


def _lsat_columns(rows: list[tuple[str, str, float, float, int]]) -> Data:
    data = {
        "gender": np.array([int(row[0] == "male") for row in rows]),
        "lsat": np.array([row[2] for row in rows]),
        **{f"race_{race}": np.array([int(row[1] == race) for row in rows]) for race in LSAT_RACES},
        "ugpa": np.array([row[3] for row in rows]),
    }
    return data, np.array([row[4] for row in rows])
