"""Machines of libsvm in files: what it trusts is checked before it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..codec.reading import require


def complete_machine(machine: dict[str, Any], n_classes: int, n_columns: int) -> None:
    """Check the numbers that libsvm trusts, and add its own copies of coefficients, with its own signs.

    A machine without classes has one score, and counts its vectors first.
    """
    vectors, n_sides = machine["support_vectors_"], n_classes or 2
    n, thin, n_pairs = vectors.shape[0], sparse.issparse(vectors), n_sides * (n_sides - 1) // 2
    shapes = {
        "support_vectors_": (n, n_columns),
        "support_": (n,),
        "_n_support": (n_sides,),
        "dual_coef_": (n_sides - 1, n),
        "intercept_": (n_pairs,),
        **({"class_weight_": (n_classes,)} if n_classes else {}),
    }
    shapes |= dict.fromkeys(("_probA", "_probB"), (n_pairs if len(machine["_probA"]) else 0,))
    for name, shape in shapes.items():
        require(machine[name].shape == shape, f"{name} of the machine should have the shape {shape}")
    n_support = machine["_n_support"][: None if n_classes else 1]
    adds_up = n_support.min() >= 0 and int(n_support.sum(dtype=np.int64)) == n
    require(adds_up, f"_n_support of the machine does not add up to {n}")
    known = machine["kernel"] in ("linear", "poly", "rbf", "sigmoid")
    require(known and machine["_sparse"] is thin, "_sparse or kernel does not fit the support vectors")
    dual = machine["dual_coef_"]
    full = sparse.issparse(dual) == thin and (not thin or dual.nnz == dual.shape[0] * n)
    require(full, "dual_coef_ of the machine does not have a number for each of the support vectors")
    sign = -1.0 if n_classes == 2 else 1.0
    machine |= {"_dual_coef_": sign * dual, "_intercept_": sign * machine["intercept_"]}
    if thin:
        machine["support_vectors_"] = sparse.csr_matrix(vectors)
