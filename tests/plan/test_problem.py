"""A recipe can keep early stages by their index, and always keeps the full model."""

from __future__ import annotations

import numpy as np
import pytest
from plan.cases import recipe

from wald.plan import CertificateSize


@pytest.mark.parametrize("keep", [[], [0], [2], [0, 2], [0, 1, 2]])
def test_a_subset_keeps_stages_and_the_full_model(keep):
    whole = recipe(3, size=2)
    some = whole.subset(keep)
    assert some.stages.tolist() == [*(2 * (k + 1) for k in keep), 8]
    assert some.stage_terms.tolist() == [2 * (k + 1) for k in keep]
    assert some.stage_costs.tolist() == [10 * s for s in some.stages.tolist()]
    assert [r.bias[0] for r in some.early.readouts] == some.stage_terms.tolist()
    np.testing.assert_array_equal(some.order, whole.order)
    np.testing.assert_array_equal(some.terms, whole.terms)
    assert some.surrogates is whole.surrogates


def test_a_subset_of_a_subset_counts_from_there():
    assert recipe(4).subset([0, 2, 3]).subset([1, 2]).stages.tolist() == recipe(4).subset([2, 3]).stages.tolist()


@pytest.mark.parametrize("n", [1, 2, 87, 88])
def test_pairs_are_of_all_rows(n):
    size = CertificateSize(n, 0.95)
    for worse in np.linspace(0, 1, 12):
        for chance in (None, 0.9):
            allowed = [size.allows_pairs(1.0, 0.1, worse, share * (1 - worse), chance) for share in (0.0, 0.5, 1.0)]
            assert allowed == sorted(allowed)
