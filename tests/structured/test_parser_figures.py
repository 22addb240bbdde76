"""Accuracy of the parser on real treebanks, less a margin for the seed."""

from __future__ import annotations

import pytest

from wald.datasets import fetch_treebank
from wald.structured import DependencyParser

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("name", "parameters", "uas"),
    [
        ("ewt", {}, 0.882),
        ("ewt", {"decoder": "chu-liu-edmonds"}, 0.872),
        ("ewt", {"feature_groups": "tags"}, 0.855),
        ("ptb-sample", {}, 0.893),
    ],
)
def test_attachment(wald_data, name, parameters, uas):
    if not (wald_data / name).is_dir():
        pytest.skip(f"no {name} in {wald_data}")
    train, test = (fetch_treebank(name, subset=part, download_if_missing=False) for part in ("train", "test"))
    assert DependencyParser(**parameters, relations=False, random_state=0).fit(train).score(test) >= uas
