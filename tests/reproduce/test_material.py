"""The three data sets and their models."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce.focus_of_attention.material import DATA, DESCRIPTIONS, DIGITS, materials


def test_every_data_set_is_described():
    assert list(DESCRIPTIONS) == [name for name, _, _ in DATA]
    assert all(str(digit) in DESCRIPTIONS["MNIST"] for digit in DIGITS)
    assert "not its published rows" in DESCRIPTIONS["Gisette-like"]
    assert "in place of real-sim" in DESCRIPTIONS["20 newsgroups"]


@pytest.mark.long
def test_quick_models_on_the_real_thing(wald_data):
    seen = []
    for name, train in materials(quick=True):
        material = train()
        seen.append(material.data)
        assert material.data == name
        assert len(material.rows.labels) == sum(material.sizes[1:])
        assert material.sizes.certificate >= 2995  # without which no 0.1 % can be certified at 95 %
        wrong = (material.rows.full == 1) != material.rows.labels
        assert wrong.mean() < {"MNIST": 0.03, "Gisette-like": 0.08, "20 newsgroups": 0.15}[name]
        some = slice(0, 200)
        np.testing.assert_array_equal(material.rows.full[some] == 1, material.model.predict(material.rows.X[some]))
    assert seen == ["MNIST"] * 3 + ["Gisette-like", "20 newsgroups"]
