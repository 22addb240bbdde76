"""Fixtures of the tests of parsers and pipelines."""

from __future__ import annotations

import pytest
from structured.pipelines import TRAIN, length_of

from wald.datasets import make_trees
from wald.structured import DependencyParser, FeatureGroup, TextPipeline, WordTagger


@pytest.fixture(scope="session")
def bank():
    return make_trees(400, random_state=0)


@pytest.fixture(scope="module")
def pipeline() -> TextPipeline:
    parser = DependencyParser(table_bits=12, max_iter=3, states="random")
    tagger = WordTagger([FeatureGroup("length", length_of, cost=1e-6)], max_iter=2)
    return TextPipeline(tagger, parser, n_folds=2, random_state=0).fit(TRAIN)


@pytest.fixture(scope="module")
def plain() -> TextPipeline:
    parser = DependencyParser(table_bits=12, max_iter=3, states="random")
    return TextPipeline(WordTagger(max_iter=2), parser, n_folds=2, random_state=0).fit(TRAIN)
