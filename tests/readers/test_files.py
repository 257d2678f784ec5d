"""Models from files: read as they were, with nothing of the file run, and nothing hostile let in."""

import io as streams
import json
import pickle
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree
from skops import io

from polyflip import Explainer, InputError, ModelError, PolyflipError
from polyflip.readers import load_model

RNG = np.random.default_rng(0)
TABLE = RNG.integers(0, 3, (80, 4))
LABELS = (TABLE[:, 0] + TABLE[:, 1] > 2).astype(int)
WORDS = np.where(LABELS, "yes", "no")
FRAME = pd.DataFrame(TABLE, columns=["age", "sex", "race", "debt"])
GAPS = np.where(RNG.random((80, 4)) < 0.1, np.nan, TABLE)

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, LABELS),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0).fit(TABLE, LABELS),
    "extra trees": ExtraTreesClassifier(5, max_depth=3, random_state=0).fit(TABLE, LABELS),
    "categorical": CategoricalNB().fit(TABLE, LABELS),
    "bernoulli": BernoulliNB().fit(TABLE > 1, LABELS),
    "words": RandomForestClassifier(5, max_depth=3, random_state=0).fit(TABLE, WORDS),
    "names": RandomForestClassifier(5, max_depth=3, random_state=0).fit(FRAME, WORDS),
    "gaps": RandomForestClassifier(5, max_depth=3, random_state=0).fit(GAPS, LABELS),
    "three classes": RandomForestClassifier(5, max_depth=3, random_state=0).fit(TABLE, TABLE[:, 0]),
    "bootstrap of samples": RandomForestClassifier(5, max_samples=0.5, random_state=0).fit(TABLE, LABELS),
    "a leaf": DecisionTreeClassifier(random_state=0).fit(TABLE, LABELS * 0),
    "random state": RandomForestClassifier(3, random_state=np.random.RandomState(0)).fit(TABLE, LABELS),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_the_same_after_a_skops_file(name, tmp_path):
    io.dump(MODELS[name], tmp_path / "model.skops")
    check_same(MODELS[name], load_model(tmp_path / "model.skops"))


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_the_same_after_a_trusted_pickle(name, suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    if suffix == ".joblib":
        joblib.dump(MODELS[name], path, compress=3)
    else:
        path.write_bytes(pickle.dumps(MODELS[name]))
    check_same(MODELS[name], load_model(path, trust=True))
    check_same(MODELS[name], load_model(str(path), True))


def check_same(model, read):
    assert type(read) is type(model)
    rows = FRAME if hasattr(model, "feature_names_in_") else TABLE
    assert (read.predict(rows) == model.predict(rows)).all()
    assert (read.predict_proba(rows) == model.predict_proba(rows)).all()
    if len(model.classes_) > 1:
        row = rows.iloc[[0]] if rows is FRAME else (TABLE[0] > 1).astype(int)
        one, other = (Explainer(each).counterfactual(row) for each in (model, read))
        assert (one.cost, one.point, str(one.status)) == (other.cost, other.point, str(other.status))


# -- what is not a model's file --------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".skops", ".pkl", ".joblib", ".txt"])
def test_a_file_that_is_not_there_is_told(suffix, tmp_path):
    with pytest.raises(InputError, match=f"no model file .*model{suffix}"):
        load_model(tmp_path / f"model{suffix}", trust=True)


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "model.skops").mkdir()
    with pytest.raises(InputError, match="no model file"):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("name", ["model", "model.txt", "model.SKOPS.bak", "model.onnx", ".skops"])
def test_another_suffix_is_told_which_are_read(name, tmp_path):
    io.dump(MODELS["tree"], tmp_path / name)
    with pytest.raises(InputError, match=r"ends in \.skops"):
        load_model(tmp_path / name, trust=True)


class Witness:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib"])
def test_a_pickle_is_refused_without_trust_and_not_run(suffix, tmp_path):
    mark = tmp_path / "mark"
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Witness(mark)))
    with pytest.raises(InputError, match="--trust"):
        load_model(path)
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"", b"\x80", b"not a pickle", b"cnowhere\nnothing\n.", b"PK\x03\x04"])
def test_a_damaged_pickle_is_told(content, tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.pkl"):
        load_model(path, trust=True)


def test_a_pickle_under_the_name_of_skops_is_not_run(tmp_path):
    mark = tmp_path / "mark"
    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Witness(mark)))
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(path, trust=True)
    assert not mark.exists()


# -- hostile skops files ---------------------------------------------------------------------------


class Stranger:
    """A type that no file may bring along."""


@pytest.mark.parametrize("trust", [False, True])
def test_unknown_types_are_refused_by_name(trust, tmp_path):
    model = DecisionTreeClassifier(random_state=0).fit(TABLE, LABELS)
    model.more = Stranger()
    io.dump(model, tmp_path / "model.skops")
    with pytest.raises(ModelError, match="Stranger"):
        load_model(tmp_path / "model.skops", trust)


def test_a_method_in_the_place_of_predict_is_refused(tmp_path):
    model = DecisionTreeClassifier(random_state=0).fit(TABLE, LABELS)
    model.predict = MODELS["forest"].predict
    io.dump(model, tmp_path / "model.skops")
    with pytest.raises(ModelError, match="predict"):
        load_model(tmp_path / "model.skops")


def test_a_file_that_names_a_function_is_refused_and_not_run(tmp_path):
    mark = tmp_path / "mark"
    path = tmp_path / "model.skops"
    io.dump(MODELS["tree"], path)
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    schema |= {
        "__class__": "system",
        "__module__": "os",
        "__loader__": "ObjectNode",
        "content": f"touch {mark}",
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(path)
    assert not mark.exists()


def test_an_array_of_objects_is_not_unpickled(tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "model.skops"
    io.dump(MODELS["tree"], path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    hostile = streams.BytesIO()
    np.save(hostile, np.array([Witness(mark)], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, hostile.getvalue() if name.endswith(".npy") else part)
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(path)
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"words", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_archive_is_told(content, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(path)


@pytest.mark.parametrize("schema", ["", "[]", "{}", "null", '{"__loader__": "TreeNode"}', "[" * 100_000])
def test_an_archive_of_other_things_is_told(schema, tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", schema)
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(path)


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_archive_is_refused_or_a_model(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "model.skops"
    io.dump(MODELS["forest"], path)
    content = path.read_bytes()
    for _ in range(12):
        damaged = bytearray(content)
        for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged[: len(damaged) if rng.random() < 0.7 else rng.integers(len(damaged))])
        try:
            model = load_model(path)
        except PolyflipError:
            continue
        assert type(model) is RandomForestClassifier


def test_a_model_that_is_not_supported_is_refused_when_it_is_read(tmp_path):
    io.dump(LogisticRegression().fit(TABLE, LABELS), tmp_path / "model.skops")
    with pytest.raises(ModelError, match="not supported"):
        Explainer(load_model(tmp_path / "model.skops"))


# -- trees that point outside of themselves --------------------------------------------------------


def broken(columns=4, nodes=None, node_count=None):
    """A tree in whose table some entries are others; scikit-learn follows them without a look."""
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, LABELS)
    state = model.tree_.__getstate__()
    table = state["nodes"].copy()
    for name, (place, value) in (nodes or {}).items():
        table[name][place] = value
    count = state["node_count"] if node_count is None else node_count
    model.tree_ = Tree(columns, np.array([2]), 1)
    model.tree_.__setstate__(state | {"nodes": table, "node_count": count})
    return model


BROKEN = {
    "a child beyond the last node": lambda: broken(nodes={"left_child": (0, 99)}),
    "a child far away": lambda: broken(nodes={"right_child": (0, 2**40)}),
    "a child before the first node": lambda: broken(nodes={"left_child": (0, -2)}),
    "a child that is its own parent": lambda: broken(nodes={"left_child": (0, 0)}),
    "a child that is the root": lambda: broken(nodes={"right_child": (1, 0)}),
    "half a leaf": lambda: broken(nodes={"left_child": (0, -1)}),
    "the other half of a leaf": lambda: broken(nodes={"right_child": (0, -1)}),
    "a column beyond the last": lambda: broken(nodes={"feature": (0, 4)}),
    "a column far away": lambda: broken(nodes={"feature": (0, 2**40)}),
    "a column before the first": lambda: broken(nodes={"feature": (0, -1)}),
    "a column that the model has not": lambda: broken(10**9, nodes={"feature": (0, 10**8)}),
    "no nodes": lambda: broken(node_count=0),
    "fewer nodes than it uses": lambda: broken(node_count=2),
}


def test_a_tree_whose_nodes_share_a_child_is_refused(tmp_path):
    """Sixty such nodes make more paths than anybody can walk."""
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, LABELS)
    shared = broken(nodes={"left_child": (0, int(model.tree_.children_right[0]))})
    io.dump(shared, tmp_path / "model.skops")
    with pytest.raises(ModelError, match="point outside"):
        load_model(tmp_path / "model.skops")


def in_a_forest(model):
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(TABLE, LABELS)
    forest.estimators_[1] = model
    return forest


def in_an_array(model):
    forest = in_a_forest(model)
    forest.estimators_ = np.array(forest.estimators_, dtype=object)
    return forest


@pytest.mark.parametrize(
    "where", [lambda model: model, in_a_forest, in_an_array], ids=["alone", "forest", "array"]
)
@pytest.mark.parametrize("name", BROKEN)
def test_a_tree_that_points_outside_is_refused(name, where, tmp_path):
    io.dump(where(BROKEN[name]()), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(tmp_path / "model.skops")


def test_a_model_that_says_it_has_fewer_columns_than_its_tree_is_refused(tmp_path):
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE[:, ::-1], LABELS)
    assert model.tree_.feature.max() == 3
    model.n_features_in_ = 1
    io.dump(model, tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"model\.skops"):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("count", ["-1", "1e9", "null", '"x"', "1000000000000"])
def test_a_count_of_nodes_that_is_none_is_refused_or_put_right(count, tmp_path):
    path = tmp_path / "model.skops"
    io.dump(MODELS["tree"], path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"]["tree_"]["content"]["content"]["node_count"]["content"] = count
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in (parts | {"schema.json": json.dumps(schema)}).items():
            archive.writestr(name, part)
    try:
        model = load_model(path)
    except ModelError:
        return
    assert (model.predict(TABLE) == MODELS["tree"].predict(TABLE)).all()
