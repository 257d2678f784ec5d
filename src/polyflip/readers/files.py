"""Models from files: skops files are read with nothing executed, pickles only where they are trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from polyflip.errors import InputError, MissingDependencyError, ModelError

__all__ = ["load_model"]

PICKLES = (".pkl", ".pickle", ".joblib")
TREE = "sklearn.tree._tree.Tree"  # skops leaves its node numbers to whoever loads it: they are checked here


def load_model(path: str | Path, trust: bool = False) -> Any:
    """A fitted model from a file; a pickle runs code when it is loaded, and is refused without ``trust``."""
    source = Path(path)
    if not source.is_file():
        raise InputError(f"there is no model file {str(source)!r}")
    if source.suffix == ".skops":
        return _from_skops(source)
    if source.suffix in PICKLES:
        if not trust:
            raise InputError(
                f"{source.name!r} is a pickle, and loading one runs whatever code it holds: "
                "add --trust if you know where it comes from, or save the model with skops"
            )
        return _from_pickle(source)
    raise InputError(f"{source.name!r}: a model file ends in .skops, or in one of {', '.join(PICKLES)}")


def _from_skops(source: Path) -> Any:
    try:
        from skops import io
    except ImportError as error:
        raise MissingDependencyError("skops", "cli", "reading a .skops file") from error
    try:
        unknown = [each for each in io.get_untrusted_types(file=source) if each != TREE]
        if unknown:
            raise ModelError(f"{source.name!r} holds {', '.join(unknown)}, which is not loaded from a file")
        model = io.load(source, trusted=[TREE])
        _refuse_broken_trees(model, source.name)
    except ModelError:
        raise
    except Exception as error:  # a damaged or hostile file fails anywhere inside
        raise ModelError(f"{source.name!r} cannot be read as a skops file: {error}") from error
    return model


def _from_pickle(source: Path) -> Any:
    import joblib

    try:
        return joblib.load(source)
    except Exception as error:  # whatever a pickle does
        raise ModelError(f"{source.name!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _refuse_broken_trees(model: Any, name: str) -> None:
    """Refuse trees whose nodes point outside of them: scikit-learn would follow them into foreign memory."""
    from sklearn.tree._tree import Tree

    seen: set[int] = set()
    stack: list[tuple[Any, float]] = [(model, np.inf)]
    while stack:
        each, columns = stack.pop()
        if id(each) in seen or isinstance(each, (str, bytes, int, float, type(None))):
            continue
        seen.add(id(each))
        inside: Any = ()
        if isinstance(each, Tree):
            if not _sound(each, columns):
                raise ModelError(
                    f"{name!r} holds a tree whose nodes point outside of it, or at one child twice"
                )
        elif isinstance(each, dict):
            inside = each.values()
        elif isinstance(each, (list, tuple, set)):
            inside = each
        elif isinstance(each, np.ndarray):
            inside = each.ravel().tolist() if each.dtype == object else ()
        else:
            columns = min(columns, getattr(each, "n_features_in_", np.inf))
            inside = (getattr(each, "__dict__", None),)
        stack += [(one, columns) for one in inside]


def _sound(tree: Any, columns: float) -> bool:
    """Whether children follow their parents inside the tree, and the model has the columns."""
    count, node = tree.node_count, np.arange(tree.node_count)
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    leaf = left == -1
    inner = (node < left) & (left < count) & (node < right) & (right < count)
    born = np.bincount(np.concatenate([left[~leaf], right[~leaf]]).clip(0, count), minlength=count)
    if not (born[0] == 0 and (born[1:count] == 1).all()):  # shared children make paths without number
        return False
    known = (feature >= 0) & (feature < min(columns, tree.n_features))
    return bool(count > 0 and np.where(leaf, right == -1, inner & known).all())
