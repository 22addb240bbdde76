"""Synthetic walks have the documented distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from stopping.walks import make_walks

KINDS = ("independent", "correlated", "heavy-tailed")


@pytest.mark.parametrize("kind", KINDS)
def test_full_sums_have_the_drift_and_variance_one(kind):
    terms = make_walks(20_000, 50, kind=kind, drift=0.7, random_state=0)
    ends = terms.sum(axis=1)
    assert terms.shape == (20_000, 50)
    assert ends.mean() == pytest.approx(0.7, abs=0.03)
    assert ends.std() == pytest.approx(1.0, abs=0.1 if kind == "heavy-tailed" else 0.03)


def test_the_kinds_differ_as_documented():
    plain, shared, heavy = (make_walks(20_000, 50, kind=kind, random_state=0) for kind in KINDS)
    correlation = [np.corrcoef(terms[:, 0], terms[:, 1:].sum(axis=1))[0, 1] for terms in (plain, shared, heavy)]
    assert correlation[1] > 0.08 > np.abs([correlation[0], correlation[2]]).max()
    assert stats.kurtosis(heavy.ravel()) > 5.0 > 0.1 > abs(stats.kurtosis(plain.ravel()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_walks(kind):
    np.testing.assert_array_equal(*(make_walks(5, 7, kind=kind, random_state=3) for _ in range(2)))
    assert (make_walks(5, 7, kind=kind, random_state=3) != make_walks(5, 7, kind=kind, random_state=4)).all()
