"""Files of libraries that are damaged or forged: a ValueError, at once, and no memory beyond the file's size."""

from __future__ import annotations

import copy
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trees.texts import LIGHTGBM, TEXTS, catboost_document, nested_document, ubjson, xgboost_document

import wald

#: Bytes that reading a file may take whatever its size, and per byte of it.
ANY_FILE, PER_BYTE, SECONDS = 100 << 20, 200, 5.0

X = np.array([[0.0, 1.0], [np.nan, 2.0], [1e300, -1e300], [-np.inf, 3.0]])


def refused(raw: bytes, words: str = "") -> None:
    """Check that a file is refused in time and within memory."""
    assert read(raw, words) is None


def read(raw: bytes, words: str = "") -> Any:
    """The model of a file; None if it is refused."""
    tracemalloc.start()
    start = time.process_time()
    try:
        model = wald.read_model(raw)
        model.predict(
            X[:, : model.n_features_in_] if model.n_features_in_ <= 2 else np.zeros((1, model.n_features_in_))
        )
    except ValueError as error:
        model, message = None, str(error)
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert model is not None or (message and words in message)
    assert time.process_time() - start < SECONDS
    assert most < ANY_FILE + PER_BYTE * len(raw)
    return model


@pytest.mark.parametrize("name", TEXTS)
def test_every_file_that_is_cut_off(name: str) -> None:
    raw = TEXTS[name]
    for end in range(0, len(raw), 7):
        model = read(raw[:end])
        if name != "model.txt":  # a text may lack what follows its last tree
            assert model is None


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seed", range(3))
def test_files_with_altered_bytes(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(150):
        raw = bytearray(TEXTS[name])
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(raw)))
            raw[at] = int(rng.integers(256)) if rng.random() < 0.5 else int(rng.choice(list(b"0123456789-.[]{},e ")))
        read(bytes(raw))


@pytest.mark.parametrize("name", TEXTS)
def test_files_with_parts_moved(name: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        raw = TEXTS[name]
        first, second, third = sorted(rng.integers(0, len(raw), 3).tolist())
        read(raw[:first] + raw[second:third] + raw[first:second] + raw[third:])
        read(raw[:second] + raw[first:second] + raw[second:])


NUMBERS = [
    -1,
    2**31 - 1,
    -(2**31),
    2**31,
    2**63,
    10**30,
    1e300,
    float("nan"),
    float("inf"),
    "x",
    None,
    [],
    {},
    [[]],
    True,
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@pytest.mark.slow
@pytest.mark.parametrize("made", [xgboost_document, catboost_document, nested_document])
def test_documents_with_any_value_anywhere(made: Callable[[], Any]) -> None:
    """Every value of a document in turn is replaced by others, or is missing."""
    rng = np.random.default_rng(3)
    for place in places(made())[1:]:
        for value in [*rng.choice(len(NUMBERS), 6, replace=False), "missing"]:
            document = made()
            inner = document
            for key in place[:-1]:
                inner = inner[key]
            if value == "missing":
                del inner[place[-1]]
            else:
                inner[place[-1]] = copy.deepcopy(NUMBERS[int(value)])
            read(json.dumps(document).encode())


def replaced(old: bytes, new: bytes) -> bytes:
    assert old in LIGHTGBM
    return LIGHTGBM.replace(old, new, 1)


HOSTILE_TEXTS = {
    "a cycle": (replaced(b"left_child=-1 -2", b"left_child=0 -2"), "no text"),
    "a child beyond the tree": (replaced(b"left_child=-1 -2", b"left_child=-1 99"), "no text"),
    "the smallest number": (replaced(b"left_child=-1 -2", b"left_child=-1 -9223372036854775808"), "no text"),
    "a number too large": (replaced(b"left_child=-1 -2", b"left_child=-1 99999999999999999999"), "no text"),
    "a feature beyond the columns": (replaced(b"split_feature=1 0", b"split_feature=1 2"), "beyond its 2 features"),
    "a negative feature": (replaced(b"split_feature=1 0", b"split_feature=1 -1"), "beyond its 2 features"),
    "features without end": (replaced(b"max_feature_idx=1", b"max_feature_idx=2147483646"), "features"),
    "features without names": (replaced(b"max_feature_idx=1", b"max_feature_idx=2"), "2 names"),
    "outputs without end": (replaced(b"iteration=1", b"iteration=2147483647"), "outputs"),
    "no outputs": (replaced(b"iteration=1", b"iteration=0"), "outputs"),
    "leaves without end": (replaced(b"num_leaves=3", b"num_leaves=2147483648"), ""),
    "a leaf that is not finite": (replaced(b"leaf_value=-1.5", b"leaf_value=inf"), "finite"),
    "a threshold that is NaN": (replaced(b"threshold=0.5", b"threshold=nan"), "NaN"),
    "no such set": (replaced(b"threshold=0 1", b"threshold=7 1"), "no categories"),
    "a set that is NaN": (replaced(b"threshold=0 1", b"threshold=nan 1"), ""),
    "sets beyond the bits": (replaced(b"cat_boundaries=0 1", b"cat_boundaries=0 2147483647"), "no categories"),
    "a slope of zero": (replaced(b"sigmoid:1", b"sigmoid:0"), "out of range"),
    "a slope that is NaN": (replaced(b"sigmoid:1", b"sigmoid:nan"), "out of range"),
    "linear leaves": (replaced(b"is_linear=0", b"is_linear=1"), "linear"),
    "categories that are no lists": (replaced(b"categorical:null", b'categorical:{"a": "b"}'), "no lists"),
    "a category that is a list": (replaced(b"categorical:null", b'categorical:[["a", []]]'), "neither texts nor"),
    "categories that are no JSON": (replaced(b"categorical:null", b"categorical:[["), ""),
    "categories that nest": (replaced(b"categorical:null", b"categorical:" + b"[" * 100_000), ""),
    "no trees": (LIGHTGBM[: LIGHTGBM.index(b"\nTree=0")], "no trees"),
    "no text": (LIGHTGBM.replace(b"age", b"\xff\xfe"), "damaged"),
}


@pytest.mark.parametrize(("raw", "words"), HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
def test_hostile_texts_of_lightgbm(raw: bytes, words: str) -> None:
    if words == "" and b"num_leaves=2147483648" in raw:
        read(raw)  # the count is not used: the arrays are what they are
    else:
        refused(raw, words)


def test_sets_of_categories_that_repeat_do_not_take_memory() -> None:
    n = 3000
    words = " ".join(["4294967295"] * n)
    tree = (
        f"\nTree=0\nnum_leaves={n + 1}\nnum_cat=1\nsplit_feature={' '.join(['0'] * n)}\nthreshold="
        f"{' '.join(['0'] * n)}\ndecision_type={' '.join(['1'] * n)}\n"
        f"left_child={' '.join(str(i + 1) for i in range(n - 1))} -1\n"
        f"right_child={' '.join(str(-i - 2) for i in range(n))}\nleaf_value={' '.join(['1'] * (n + 1))}\n"
        f"cat_boundaries=0 {n}\ncat_threshold={words}\n"
    )
    refused(LIGHTGBM[: LIGHTGBM.index(b"\nTree=0")] + tree.encode(), "sets of categories")


def test_a_tree_that_is_one_long_chain() -> None:
    n = 20_000
    tree = (
        f"\nTree=0\nnum_leaves={n + 1}\nsplit_feature={' '.join(['0'] * n)}\nthreshold={' '.join(map(str, range(n)))}\n"
        f"decision_type={' '.join(['2'] * n)}\nleft_child={' '.join(str(~i) for i in range(n))}\n"
        f"right_child={' '.join(str(i + 1) for i in range(n - 1))} {~n}\nleaf_value={' '.join(['1'] * (n + 1))}\n"
    )
    assert read(LIGHTGBM[: LIGHTGBM.index(b"\nTree=0")] + tree.encode()) is not None


def changed(document: Any, *path: Any) -> Any:
    """A document in which the value at a path is replaced."""
    inner = document
    for key in path[:-2]:
        inner = inner[key]
    inner[path[-2]] = path[-1]
    return document


TREE = ("learner", "gradient_booster", "model", "trees", 0)
PARAMETERS = ("learner", "learner_model_param")
HOSTILE_DOCUMENTS = {
    "a cycle": ((*TREE, "left_children", 0, 0), ""),
    "half a node": ((*TREE, "right_children", 0, -1), "do not fit together"),
    "a child beyond the tree": ((*TREE, "left_children", 0, 99), ""),
    "a feature beyond the columns": ((*TREE, "split_indices", 0, 2), "feature is out of range"),
    "features without end": ((*PARAMETERS, "num_feature", "2147483647"), "claims"),
    "outputs without end": ((*PARAMETERS, "num_class", "2147483647"), "claims"),
    "a base that is no probability": ((*PARAMETERS, "base_score", "[2E0]"), "base score"),
    "no such output": (("learner", "gradient_booster", "model", "tree_info", 0, 5), "out of range"),
    "categories without end": (
        ("learner", "gradient_booster", "model", "trees", 1, "categories", 1, 2**24),
        "out of range",
    ),
    "leaves of several values": ((*TREE, "tree_param", "size_leaf_vector", "3"), "several values"),
    "a linear booster": (("learner", "gradient_booster", "name", "gblinear"), "gblinear"),
}


@pytest.mark.parametrize(("path", "words"), HOSTILE_DOCUMENTS.values(), ids=HOSTILE_DOCUMENTS)
def test_hostile_documents_of_xgboost(path: tuple[Any, ...], words: str) -> None:
    document = changed(xgboost_document(), *path)
    refused(json.dumps(document).encode(), words)
    refused(ubjson(document), words)


def test_documents_that_are_nested_too_deeply() -> None:
    for start, end in (("[", "]"), ('{"a":', "}")):
        refused(b'{"learner":' + start.encode() * 100_000 + b"1" + end.encode() * 100_000 + b"}")
    refused(b"{i\x07learner" + b"[" * 100_000, "nested deeper")
    tree: Any = {"value": 1.0}
    for _ in range(300):
        tree = {"split": {"border": 0.5, "float_feature_index": 0}, "left": {"value": 0.0}, "right": tree}
    document = nested_document() | {"trees": [tree]}
    assert read(json.dumps(document).encode()) is not None


HOSTILE_BINARIES = {
    "a long array": b"{i\x07learner[$l#L\x7f\xff\xff\xff\xff\xff\xff\xff",
    "a long array of nothing": b"{i\x07learner[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff",
    "a negative length": b"{i\x07learner[$l#l\xff\xff\xff\xff",
    "a long text": b"{i\x07learnerSL\x7f\xff\xff\xff\xff\xff\xff\xff",
    "a negative text": b"{i\xff",
    "a text that is none": b"{i\x01\xff",
    "a length that is no number": b"{d\x00\x00\x00\x00",
    "an unknown mark": b"{i\x07learner?}",
    "more at the end": ubjson({"learner": 1}) + b"}",
}


@pytest.mark.parametrize("raw", HOSTILE_BINARIES.values(), ids=HOSTILE_BINARIES)
def test_hostile_binaries(raw: bytes) -> None:
    refused(raw)


HOSTILE_CATBOOST = {
    "a feature beyond the columns": (("oblivious_trees", 0, "splits", 0, "float_feature_index", 2), ""),
    "a negative feature": (("oblivious_trees", 0, "splits", 0, "float_feature_index", -1), "out of range"),
    "too few leaves": (("oblivious_trees", 0, "leaf_values", [1.0]), ""),
    "columns without end": (("features_info", "float_features", 0, "flat_feature_index", 2**31), "claims"),
    "a negative column": (("features_info", "float_features", 0, "flat_feature_index", -1), "out of range"),
    "a bias that is not finite": (("scale_and_bias", [1, [float("inf")]]), "out of range"),
    "a threshold beyond 1": (("model_info", "binclass_probability_threshold", 2.0), "probability threshold"),
    "a class twice": (("model_info", "class_params", "class_names", [1, 1]), "no distinct"),
    "other splits": (("oblivious_trees", 0, "splits", 0, "split_type", "OnlineCtr"), "OnlineCtr"),
    "too deep": (
        ("oblivious_trees", 0, "splits", [{"border": 0.5, "float_feature_index": 0}] * 60),
        "60 levels",
    ),
}


@pytest.mark.parametrize(("path", "words"), HOSTILE_CATBOOST.values(), ids=HOSTILE_CATBOOST)
def test_hostile_documents_of_catboost(path: tuple[Any, ...], words: str) -> None:
    refused(json.dumps(changed(catboost_document(), *path)).encode(), words)


def test_what_is_no_model_file() -> None:
    for raw in (b"", b"tree", b"\x80\x04pickle", b"PK\x03\x04", b"{}", b"{", b"{}}"):
        refused(raw)
    with pytest.raises(ValueError, match=r"LightGBM's model\.txt .*XGBoost's"):
        wald.read_model(b"something else")


def test_an_empty_set_of_categories() -> None:
    """Numbers between -1 and 0 truncate to category 0, which is not in the set."""
    model = read(LIGHTGBM.replace(b"cat_boundaries=0 1", b"cat_boundaries=1 1"))
    other = wald.read_model(LIGHTGBM.replace(b"cat_threshold=5", b"cat_threshold=0"))
    rows = np.stack([np.array([-0.5, -0.0, 0.0, 0.5, 1.0, -1.0, np.nan, 1e300]), np.zeros(8)], axis=1)
    np.testing.assert_array_equal(model.decision_function(rows), other.decision_function(rows))


def test_a_refusal_quotes_little_of_the_file() -> None:
    document = catboost_document()
    document["oblivious_trees"][0]["splits"][0]["split_type"] = "a" * 100_000
    with pytest.raises(ValueError, match="splits of type") as error:
        wald.read_model(json.dumps(document).encode())
    assert len(str(error.value)) < 2000
