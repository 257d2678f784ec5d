"""What a feature is: its kind, its columns, and how it may change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from polyflip.errors import FeatureError
from polyflip.frames import Column, Table, plain

__all__ = ["Feature", "FeatureKind", "Features", "declare", "listed", "refuse_contradicting"]

FeatureKind = Literal["numeric", "integer", "binary", "category", "one-hot"]
Changes = Literal["freely", "never", "up", "down"]
Features = Sequence["Feature"] | Mapping[str, Any]


@dataclass(frozen=True)
class Feature:
    """One feature in the user's words.

    ``kind`` is inferred where it is not given.  ``changes`` says whether a counterfactual may
    change it: ``freely``, ``never``, only ``up`` or only ``down``.  ``lower``, ``upper`` and
    ``values`` bound what it can be at all.  A one-hot group names its ``columns`` and has one
    category per column.  A category that the model holds as numbers may be given names:
    ``categories={0: "female", 1: "male"}``.

    >>> Feature("age", "integer", changes="up", lower=18)
    Feature(name='age', kind='integer', changes='up', lower=18)
    """

    name: str
    kind: FeatureKind | None = None
    categories: tuple[object, ...] | Mapping[float, object] = ()
    columns: tuple[str, ...] = ()
    changes: Changes = "freely"
    lower: float = -np.inf
    upper: float = np.inf
    values: tuple[object, ...] | None = None
    missing: bool | None = None
    weight: float = 1.0
    unit: str = ""
    codes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.kind is not None and self.kind not in get_args(FeatureKind):
            raise FeatureError(
                f"feature {self.name!r}: kind={self.kind!r}; choose one of {get_args(FeatureKind)}"
            )
        if self.changes not in get_args(Changes):
            raise FeatureError(
                f"feature {self.name!r}: changes={self.changes!r}; choose one of {get_args(Changes)}"
            )
        for name in ("lower", "upper", "weight"):
            if not _is_number(getattr(self, name)):
                raise FeatureError(f"feature {self.name!r}: {name}={getattr(self, name)!r}; give a number")
        if not self.lower <= self.upper:
            raise FeatureError(f"feature {self.name!r}: lower={self.lower} lies above upper={self.upper}")
        if not 0 <= self.weight < np.inf:
            raise FeatureError(f"feature {self.name!r}: weight={self.weight}; a weight is a number >= 0")
        if isinstance(self.categories, Mapping):
            wrong = [code for code in self.categories if not _is_number(code)]
            if wrong:
                raise FeatureError(
                    f"feature {self.name!r}: categories={{code: name}} has the code {wrong[0]!r}; "
                    "codes are the numbers that the model takes"
                )
            object.__setattr__(self, "codes", tuple(float(code) for code in self.categories))
            object.__setattr__(self, "categories", tuple(self.categories.values()))
        for name in ("categories", "columns", "values"):
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise FeatureError(f"feature {self.name!r}: {name}={given!r}; give a list")
            object.__setattr__(self, name, tuple(plain(each) for each in given))

    def __repr__(self) -> str:
        """Only what differs from the default."""
        shown = [repr(self.name)]
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                shown.append(f"{name}={value!r}")
        return f"Feature(name={', '.join(shown)})"

    @property
    def discrete(self) -> bool:
        """Whether it has categories rather than numbers on a line."""
        return self.kind in ("binary", "category", "one-hot")

    @property
    def bounded(self) -> bool:
        """Whether its declaration bounds what it can be."""
        return self.values is not None or self.lower > -np.inf or self.upper < np.inf

    @property
    def ordered(self) -> bool:
        """Whether "up" and "down" mean something: numbers, or categories held as numbers."""
        return self.kind != "one-hot" or all(_is_number(each) for each in self.labels)

    @property
    def labels(self) -> tuple[object, ...]:
        """The categories as a tuple, in the order of the cells."""
        return tuple(self.categories)

    def order(self, value: object) -> float:
        """The number by which a category is compared with others: its code."""
        index = self.labels.index(value)
        return self.codes[index] if self.codes else float(self.labels[index])  # type: ignore[arg-type]


_DEFAULTS: dict[str, object] = {
    "kind": None,
    "categories": (),
    "columns": (),
    "changes": "freely",
    "lower": -np.inf,
    "upper": np.inf,
    "values": None,
    "missing": None,
    "weight": 1.0,
    "unit": "",
    "codes": (),
}


def declare(
    columns: Sequence[str],
    data: Table | None = None,
    declared: Features | None = None,
    known: Mapping[str, Feature] | None = None,
    usual: Mapping[str, Feature] | None = None,
) -> tuple[Feature, ...]:
    """The features of a model's columns: what the user declared, what the model knows, the rest inferred.

    ``known`` is what the model itself says of a column (naive Bayes knows its categories), ``usual``
    what it suggests where there is no data.
    Features stand in the order of their first column.
    """
    known = known or {}
    usual = (usual or {}) if data is None else {}
    given = {feature.name: feature for feature in listed(declared)}
    owner = {c: f.name for f in given.values() if f.kind == "one-hot" for c in f.columns}
    _check_names(given, owner, columns)
    groups = _one_hot_groups(columns, data, given, owner) if data is not None else {}
    found: dict[str, Feature] = {}
    for column in columns:
        name = owner.get(column) or groups.get(column) or column
        if name in found:
            continue
        if name in owner.values():
            found[name] = _group(given[name])
        elif name in groups.values():
            members = tuple(c for c in columns if groups.get(c) == name)
            base = given.get(name, Feature(name))
            labels = tuple(member[len(name) + 1 :] for member in members)
            found[name] = replace(base, kind="one-hot", columns=members, categories=base.categories or labels)
        else:
            values = None if data is None else data.columns[column]
            feature = given.get(name, Feature(name))
            if column in usual and feature.kind is None and not feature.categories:
                feature = replace(feature, kind=usual[column].kind, categories=usual[column].categories)
            found[name] = _single(feature, column, values, known.get(column))
    unused = [name for name in given if name not in found]
    if unused:
        raise FeatureError(
            f"features: {unused[0]!r} is neither a column of the model nor a one-hot group of it; "
            f"the features are {', '.join(found)}"
        )
    features = tuple(_checked(feature) for feature in found.values())
    if data is not None:
        for feature in features:
            refuse_contradicting(feature, data)
    return features


def listed(declared: Features | None) -> list[Feature]:
    """Declarations of any form as a list of features."""
    if declared is None:
        return []
    if isinstance(declared, Feature):
        declared = [declared]
    if not isinstance(declared, (Mapping, Sequence)) or isinstance(declared, str):
        raise FeatureError(f"features: give Feature objects or a dict, not {type(declared).__name__}")
    if isinstance(declared, Mapping):
        return [_from_mapping(str(name), value) for name, value in declared.items()]
    features = list(declared)
    for feature in features:
        if not isinstance(feature, Feature):
            raise FeatureError(f"features: give Feature objects or a dict, not {type(feature).__name__}")
    names = [feature.name for feature in features]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise FeatureError(f"features: {sorted(twice)} declared twice")
    return features


def _from_mapping(name: str, value: Any) -> Feature:
    if isinstance(value, Feature):
        return replace(value, name=name)
    if isinstance(value, str):
        return Feature(name, kind=value)  # type: ignore[arg-type]
    if not isinstance(value, Mapping):
        raise FeatureError(f"feature {name!r}: give a Feature, a kind or a dict, not {type(value).__name__}")
    wrong = [key for key in value if key not in _DEFAULTS]
    if wrong:
        raise FeatureError(f"feature {name!r}: {wrong[0]!r} is not known; choose from {list(_DEFAULTS)}")
    return Feature(name, **value)


def _check_names(given: Mapping[str, Feature], owner: Mapping[str, str], columns: Sequence[str]) -> None:
    for feature in given.values():
        if feature.kind == "one-hot":
            unknown = [c for c in feature.columns if c not in columns]
            if len(feature.columns) < 2 or unknown:
                raise FeatureError(
                    f"feature {feature.name!r}: a one-hot group names two or more of the model's columns; "
                    + (f"unknown: {unknown}" if unknown else f"given: {list(feature.columns)}")
                )
            if feature.name in columns and feature.name not in feature.columns:
                raise FeatureError(f"feature {feature.name!r}: the model has a column of that name already")
            if len(set(feature.columns)) < len(feature.columns) or any(
                owner[c] != feature.name for c in feature.columns
            ):
                raise FeatureError(f"feature {feature.name!r}: a column belongs to one group, once")
            if feature.categories and len(feature.categories) != len(feature.columns):
                raise FeatureError(
                    f"feature {feature.name!r}: {len(feature.columns)} columns but "
                    f"{len(feature.categories)} categories"
                )
        elif feature.name in owner:
            raise FeatureError(
                f"feature {feature.name!r}: it is a column of the group {owner[feature.name]!r}"
            )


def _one_hot_groups(
    columns: Sequence[str], data: Table, given: Mapping[str, Feature], owner: Mapping[str, str]
) -> dict[str, str]:
    """Columns such as race_white, race_black: 0/1, a common prefix, and exactly one of them is 1."""
    prefixes: dict[str, list[str]] = {}
    for column in columns:
        if column in given or column in owner:
            continue
        for mark in ("=", "_"):
            prefix, found, suffix = column.rpartition(mark) if mark == "_" else column.partition(mark)
            if found and prefix and suffix and prefix not in columns:
                prefixes.setdefault(prefix, []).append(column)
                break
    groups: dict[str, str] = {}
    for prefix, members in prefixes.items():
        if len(members) < 2 or (prefix in given and given[prefix].kind not in (None, "one-hot")):
            continue
        block = [data.columns[member] for member in members]
        if data.rows and all(_is_binary(each) for each in block):
            total = np.sum([each.astype(np.float64) for each in block], axis=0)
            if np.all(total == 1.0):
                groups |= dict.fromkeys(members, prefix)
    return groups


def _group(feature: Feature) -> Feature:
    labels = feature.categories
    if not labels:
        prefix = f"{feature.name}_"
        cut = all(c.startswith((prefix, f"{feature.name}=")) for c in feature.columns)
        labels = tuple(c[len(prefix) :] if cut else c for c in feature.columns)
    return replace(feature, categories=labels)


def _single(feature: Feature, column: str, values: Column | None, known: Feature | None) -> Feature:
    """One column: the declared kind wins, then what the model knows, then what the data shows."""
    feature = feature if feature.columns else replace(feature, columns=(column,))
    if values is not None and values.dtype.kind == "f" and np.isinf(values).any():
        raise FeatureError(f"column {column!r} holds infinity in the data, which no model takes")
    if values is not None and values.dtype.kind not in "biuf":
        values = _as_numbers(values, column)
    if feature.missing is None:
        seen = values is not None and values.dtype.kind == "f" and bool(np.isnan(values).any())
        feature = replace(feature, missing=seen)
    if feature.kind is None and feature.categories:
        feature = replace(feature, kind="binary" if len(feature.labels) == 2 else "category")
    if known is not None:
        return _as_known(feature, known)
    kind = feature.kind or _inferred(values)
    feature = replace(feature, kind=kind)
    if feature.columns != (column,):
        raise FeatureError(f"feature {feature.name!r}: only a one-hot group names its columns")
    if kind == "binary" and not feature.categories:
        return replace(feature, categories=(0, 1))
    if kind == "category" and not feature.categories:
        if values is None:
            raise FeatureError(
                f"feature {feature.name!r}: name its categories, there is no data to read them from"
            )
        present = np.unique(values[~np.isnan(values.astype(np.float64))])
        return replace(feature, categories=tuple(plain(v) for v in present))
    return feature


def _as_known(feature: Feature, known: Feature) -> Feature:
    """A column whose categories the model itself knows: it may be given names, nothing else."""
    feature = replace(feature, missing=False)
    if feature.kind not in (None, "binary", "category"):
        raise FeatureError(
            f"feature {feature.name!r}: the model knows it as a category of {list(known.labels)}, "
            f"it cannot be {feature.kind!r}"
        )
    if not feature.categories:
        return replace(feature, kind=known.kind, categories=known.categories)
    codes = feature.codes or feature.labels
    strange = [code for code in codes if code not in known.labels]
    if strange:
        raise FeatureError(
            f"feature {feature.name!r}: the model knows the codes {list(known.labels)}, not {strange[0]!r}"
        )
    return replace(feature, kind="binary" if len(codes) == 2 else "category")


def _as_numbers(values: Column, column: str) -> Column:
    try:
        if values.dtype.kind not in "O" or any(isinstance(v, (str, bytes)) for v in values.tolist()):
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError):
        example = plain(values[0]) if len(values) else ""
        raise FeatureError(
            f"column {column!r} holds {example!r}, but the model takes numbers: "
            "give the columns as the model was trained on them"
        ) from None


def _inferred(values: Column | None) -> FeatureKind:
    if values is None or not len(values):
        return "numeric"
    if _is_binary(values):
        return "binary"
    if values.dtype.kind in "iu":
        return "integer"
    finite = values[np.isfinite(values)]
    return "integer" if len(finite) and np.all(finite == np.floor(finite)) else "numeric"


def _is_binary(values: Column) -> bool:
    if values.dtype.kind not in "biuf":
        return False
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return bool(len(present)) and bool(np.all((present == 0) | (present == 1)))


def _checked(feature: Feature) -> Feature:
    if feature.discrete and len(set(feature.labels)) < len(feature.labels):
        raise FeatureError(f"feature {feature.name!r}: a category is named twice: {list(feature.labels)}")
    if feature.changes in ("up", "down") and not feature.ordered:
        raise FeatureError(
            f"feature {feature.name!r}: its categories {list(feature.labels)} have no order, "
            f"so it cannot change only {feature.changes!r}"
        )
    if feature.values is not None:
        if not feature.values:
            raise FeatureError(f"feature {feature.name!r}: values is empty")
        wrong = [v for v in feature.values if feature.discrete and v not in feature.labels]
        wrong += [v for v in feature.values if not feature.discrete and not _is_number(v)]
        if wrong:
            legal = f"its categories {list(feature.labels)}" if feature.discrete else "a number"
            raise FeatureError(f"feature {feature.name!r}: values holds {wrong[0]!r}, which is not {legal}")
        if feature.kind == "integer" and not any(float(v).is_integer() for v in feature.values):  # type: ignore[arg-type]
            raise FeatureError(f"feature {feature.name!r}: none of its values is a whole number")
    if feature.kind in ("binary", "category") and not feature.codes:
        if not all(_is_number(label) for label in feature.labels):
            raise FeatureError(
                f"feature {feature.name!r}: the model takes numbers in this column; say which, as in "
                f"categories={{0: {feature.labels[0]!r}, ...}}"
            )
        feature = replace(feature, codes=tuple(float(label) for label in feature.labels))  # type: ignore[arg-type]
    return feature


def refuse_contradicting(feature: Feature, data: Table) -> None:
    """Refuse a kind that the data contradicts: distances and cells would be about other values."""
    block = np.stack([data.columns[column].astype(np.float64) for column in feature.columns])
    if feature.kind == "one-hot":
        set_once = np.isin(block, (0, 1)).all(axis=0) & (block.sum(axis=0) == 1)
        set_once |= np.isnan(block).any(axis=0)  # what is missing contradicts nothing
        if not set_once.all():
            row = int(np.argmin(set_once))
            shown = ", ".join(f"{c}={v:g}" for c, v in zip(feature.columns, block[:, row], strict=True))
            raise FeatureError(
                f"feature {feature.name!r}: in a one-hot group exactly one column is 1, the others 0; "
                f"row {row} of the data has {shown}"
            )
        return
    present = block[0][~np.isnan(block[0])]
    if feature.discrete:
        strange = present[~np.isin(present, feature.codes)]
        legal = ", ".join(f"{code:g}" for code in feature.codes)
        what = f"{feature.kind!r}, which can be {legal}"
    elif feature.kind == "integer":
        strange, what = present[present != np.floor(present)], "'integer', which takes whole numbers"
    else:
        return
    if len(strange):
        raise FeatureError(f"feature {feature.name!r} is {what}; but the data holds {strange[0]:.15g}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not (isinstance(value, float) and np.isnan(value))
