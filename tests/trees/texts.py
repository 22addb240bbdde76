"""Small model files of the libraries, written by hand, each of two trees on the columns age and income."""

from __future__ import annotations

import json
import struct
from typing import Any

LIGHTGBM = b"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=binary sigmoid:1
feature_names=age income
feature_infos=[0:9] [0:9]
tree_sizes=300 300

Tree=0
num_leaves=3
num_cat=0
split_feature=1 0
threshold=0.5 2
decision_type=2 8
left_child=-1 -2
right_child=1 -3
leaf_value=-1.5 0.25 2
is_linear=0
shrinkage=1


Tree=1
num_leaves=3
num_cat=1
split_feature=0 1
threshold=0 1
decision_type=1 2
left_child=1 -2
right_child=-1 -3
leaf_value=0.75 -0.25 0.5
cat_boundaries=0 1
cat_threshold=5
is_linear=0
shrinkage=1


end of trees

feature_importances:
income=2
age=2

parameters:
[boosting: gbdt]
end of parameters

pandas_categorical:null
"""


def xgboost_document() -> dict[str, Any]:
    """A model of XGBoost, with a categorical split."""
    first = {
        "left_children": [1, -1, 3, -1, -1],
        "right_children": [2, -1, 4, -1, -1],
        "split_indices": [1, 0, 0, 0, 0],
        "split_conditions": [0.5, -1.5, 2.0, 0.25, 2.0],
        "default_left": [1, 0, 0, 0, 0],
        "split_type": [0, 0, 0, 0, 0],
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "tree_param": {"num_nodes": "5", "size_leaf_vector": "1", "num_feature": "2", "num_deleted": "0"},
    }
    second = {
        "left_children": [1, -1, -1],
        "right_children": [2, -1, -1],
        "split_indices": [0, 0, 0],
        "split_conditions": [0.0, 0.5, -0.25],
        "default_left": [0, 0, 0],
        "split_type": [1, 0, 0],
        "categories": [0, 2],
        "categories_nodes": [0],
        "categories_segments": [0],
        "categories_sizes": [2],
        "tree_param": {"num_nodes": "3", "size_leaf_vector": "1", "num_feature": "2", "num_deleted": "0"},
    }
    return {
        "learner": {
            "attributes": {},
            "feature_names": ["age", "income"],
            "feature_types": ["c", "float"],
            "gradient_booster": {
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "2"},
                    "iteration_indptr": [0, 1, 2],
                    "tree_info": [0, 0],
                    "trees": [first, second],
                },
                "name": "gbtree",
            },
            "learner_model_param": {"base_score": "[5E-1]", "num_class": "0", "num_feature": "2", "num_target": "1"},
            "objective": {"name": "binary:logistic"},
        },
        "version": [3, 2, 0],
    }


def catboost_document() -> dict[str, Any]:
    """A model of CatBoost: a symmetric tree."""
    floats = [
        {"feature_id": name, "feature_index": i, "flat_feature_index": i, "nan_value_treatment": "AsFalse"}
        for i, name in enumerate(("age", "income"))
    ]
    splits = [
        {"border": border, "float_feature_index": i, "split_type": "FloatFeature"} for i, border in ((1, 0.5), (0, 2.0))
    ]
    return {
        "features_info": {"float_features": floats},
        "model_info": {
            "class_params": {"class_label_type": "Integer", "class_names": [0, 1]},
            "params": {"loss_function": {"params": {}, "type": "Logloss"}},
        },
        "oblivious_trees": [{"leaf_values": [-1.5, 0.25, -0.5, 2.0], "splits": splits}],
        "scale_and_bias": [1, [0.125]],
    }


def nested_document() -> dict[str, Any]:
    """A model of CatBoost: a tree that is not symmetric."""
    document = catboost_document()
    del document["oblivious_trees"]
    first, second = catboost_document()["oblivious_trees"][0]["splits"]
    inner = {"split": second, "left": {"value": 0.25}, "right": {"value": 2.0}}
    document["trees"] = [{"split": first, "left": {"value": -1.5}, "right": inner}]
    return document


def ubjson(value: Any) -> bytes:
    """Write a document as XGBoost does: lists of numbers as typed arrays."""
    if isinstance(value, dict):
        members = (struct.pack(">cq", b"L", len(k.encode())) + k.encode() + ubjson(v) for k, v in value.items())
        return b"{" + b"".join(members) + b"}"
    if isinstance(value, list) and value and all(isinstance(item, float) for item in value):
        return b"[$d#L" + struct.pack(f">q{len(value)}f", len(value), *value)
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return b"[$l#L" + struct.pack(f">q{len(value)}i", len(value), *value)
    if isinstance(value, list):
        return b"[" + b"".join(map(ubjson, value)) + b"]"
    if isinstance(value, str):
        return b"S" + struct.pack(">cq", b"L", len(value.encode())) + value.encode()
    return b"l" + struct.pack(">i", value)


TEXTS = {
    "model.txt": LIGHTGBM,
    "xgboost.json": json.dumps(xgboost_document()).encode(),
    "xgboost.ubj": ubjson(xgboost_document()),
    "catboost.json": json.dumps(catboost_document()).encode(),
    "nested.json": json.dumps(nested_document()).encode(),
}
