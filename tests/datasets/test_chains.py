"""make_chains: sequences whose labels follow a chain."""

from __future__ import annotations

import numpy as np
import pytest

from wald.datasets import make_chains


def test_shapes_and_seeds():
    X, y = make_chains(50, n_classes=3, n_features=5, mean_length=4, random_state=1)
    assert len(X) == len(y) == 50
    for rows, labels in zip(X, y, strict=True):
        assert rows.shape == (len(labels), 5)
        assert rows.dtype == np.float64
        assert labels.dtype == np.int64
    assert set(np.concatenate(y)) == {0, 1, 2}
    again, _ = make_chains(50, n_classes=3, n_features=5, mean_length=4, random_state=1)
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(X))


def test_lengths_have_the_given_mean():
    _, y = make_chains(2000, mean_length=7, random_state=0)
    assert np.mean([len(labels) for labels in y]) == pytest.approx(7, abs=0.3)
    _, y = make_chains(20, mean_length=1, random_state=0)
    assert {len(labels) for labels in y} == {1}


def test_without_noise_parts_of_a_label_are_equal():
    X, y = make_chains(30, noise=0, random_state=0)
    parts, labels = np.concatenate(X), np.concatenate(y)
    for k in range(4):
        assert len(np.unique(parts[labels == k], axis=0)) == 1


def test_neighbouring_labels_are_correlated():
    """Some pairs of labels are far more frequent than others."""
    _, y = make_chains(500, random_state=0)
    pairs = np.zeros((4, 4))
    for labels in y:
        np.add.at(pairs, (labels[:-1], labels[1:]), 1)
    assert (pairs / pairs.sum(axis=1, keepdims=True)).max() > 0.6


@pytest.mark.parametrize(
    "arguments",
    [{"n_sequences": 0}, {"n_classes": 0}, {"n_features": 0}, {"mean_length": 0}, {"noise": -1.0}, {"noise": np.nan}],
)
def test_arguments_are_checked(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        make_chains(**arguments)
