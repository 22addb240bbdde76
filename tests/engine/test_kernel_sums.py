"""Full scores that are added up as their kernel values are found have the bits of those from stored values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine import cases

from wald import _core

U = 2.0**-53


@pytest.mark.parametrize("kernel", cases.KERNELS)
@pytest.mark.parametrize("d", [3, 64, 65, 100])  # up to 64 features are one chain
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_neither_company_nor_layout_moves_a_bit(single, d, kernel):
    rng = np.random.default_rng(d)
    for n_terms, n_rows in ((1, 3), (70, 1), (333, 110)):  # parts of panels, of tiles, and of groups of rows
        packed = cases.machine(rng, kernel, d, n_terms).pack(single)
        X = cases.rows(rng, n_rows, d) + 0.25  # without zeros: as CSR, lists that are not sparse
        for in_single in {False, single}:
            together = packed.scores(_core.Rows.dense(X), U, 1, in_single)
            listed = packed.scores(cases.csr_rows(X), U, 1, in_single)
            alone = [packed.scores(_core.Rows.dense(row[None]), U, 1, in_single) for row in X]
            for k in range(2):  # scores, and bounds of their errors
                assert cases.bits(together[k]) == cases.bits(listed[k])
                assert cases.bits(together[k]) == cases.bits(np.concatenate([found[k] for found in alone]))


def test_exponentials_of_all_sizes():
    rng = np.random.default_rng(0)
    model = replace(cases.machine(rng, d=1, n=16), vectors=np.zeros((16, 1)), gamma=1.0)
    exponents = np.concatenate([[0.0, 708.0, 760.0, 1e9], rng.uniform(0, 708, 5000), rng.uniform(0, 1, 5000)])
    x = np.sqrt(exponents)
    found = model.pack(False).values(_core.Rows.dense(x[:, None]), 1)[:, 0]
    exact = np.exp(-(x.astype(np.longdouble) ** 2))
    assert found[0] == 1
    assert (found[2:4] == 0).all()
    error = np.abs(found - exact)[exponents < 700] / exact[exponents < 700]
    assert (error <= 2.0**-53 * (3 + 4 * exponents[exponents < 700])).all()
