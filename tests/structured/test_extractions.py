"""An extractor is called once for a part by a model and all policies that learn from the same examples."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from scipy import sparse
from sklearn.base import clone

from wald.datasets import make_chains
from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup, keep_features
from wald.structured.extractors import Context
from wald.structured.policies import (
    AnytimePolicy,
    IteratedPolicy,
    MyopicPolicy,
    OneShotPolicy,
    QLearningPolicy,
    UniformPolicy,
)
from wald.structured.policies.crossfit import crossfit
from wald.structured.sequences import Sequences

X, Y = make_chains(80, n_features=6, noise=1.5, random_state=0)
N = sum(map(len, X))
POLICIES = {
    "iterated": lambda: IteratedPolicy(max_iter=5, random_state=0),
    "iterated without labels": lambda: IteratedPolicy("differs", max_iter=5, random_state=0),
    "one-shot": lambda: OneShotPolicy(tradeoff=0.1, random_state=0),
    "one-shot of wrong parts": lambda: OneShotPolicy(target="wrong", random_state=0),
    "anytime": lambda: AnytimePolicy(t_max=2, random_state=0),
    "q-learning": lambda: QLearningPolicy(t_max=2, random_state=0),
    "uniform": lambda: UniformPolicy(),
    "myopic": lambda: MyopicPolicy(),
}
SEEN: Counter[bytes] = Counter()


def half(parts: Any) -> Any:
    return parts[:, ::2]


class Counting:
    """An extractor that counts its calls for every part, over all copies, because clones copy extractors."""

    def __init__(self, form: Any = np.asarray) -> None:
        self.form = form

    def __call__(self, parts: Any) -> Any:
        SEEN.update(row.tobytes() for row in parts)
        return self.form(parts**2)


def fitted(form: Any = np.asarray, examples: Any = X) -> ChainClassifier:
    SEEN.clear()
    groups = [FeatureGroup("half", half, cost=1), FeatureGroup("squares", Counting(form), cost=9)]
    return ChainClassifier(groups, max_iter=3, random_state=0).fit(examples, Y)


def most() -> int:
    return max(SEEN.values(), default=0)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("form", DENSE_AND_CSR, ids=["dense", "sparse"])
def test_a_model_and_its_policy_extract_once(name: str, form: Any) -> None:
    model = fitted(form)
    assert (len(SEEN), most()) == (N, 1)
    kind = {} if name == "iterated without labels" else {"y": Y}
    POLICIES[name]().fit(model, X, **kind)
    POLICIES[name]().fit(model, [np.array(x) for x in X], **kind)  # equal ones, elsewhere in memory
    POLICIES[name]().fit(model, Sequences.of(X), **kind)
    assert most() == 1


@pytest.mark.parametrize("name", ["iterated", "one-shot", "anytime", "q-learning"])
def test_a_policy_for_a_model_that_kept_nothing_extracts_once(name: str) -> None:
    for forget in (lambda m: m.forget_features() or m, lambda m: restored(m)):
        model = forget(fitted())
        SEEN.clear()
        POLICIES[name]().fit(model, X, Y)
        assert (len(SEEN), most()) == (N, 1)


def restored(model: ChainClassifier) -> ChainClassifier:
    loaded = pickle.loads(pickle.dumps(model))
    assert not hasattr(loaded, "_kept")
    return loaded


@pytest.mark.parametrize("form", DENSE_AND_CSR, ids=["dense", "sparse"])
def test_policies_learn_the_same_wherever_features_were_kept(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    policies, before = [], keep_features()
    try:
        for memory, disk, seconds in ((2**28, 0, 1.0), (0, 0, 0.0), (0, 2**28, 1e6), (0, 2**28, 0.0)):
            keep_features(memory=memory, disk=disk)
            monkeypatch.setattr("wald.structured.keeping.SECONDS_A_BYTE", seconds)
            model = fitted(form)
            kept = memory > 0 or (disk > 0 and seconds < 1)  # what takes less time than a file is extracted again
            assert hasattr(model, "_kept") == kept
            policies.append(OneShotPolicy(tradeoff=0.1, random_state=0).fit(model, X, Y))
            assert most() == (1 if kept else 2)
            if kept:
                values = model._kept[2].values[1]
                assert on_a_disk(values.data if sparse.issparse(values) else values) == (memory == 0)
    finally:
        keep_features(memory=before.memory, disk=before.disk)
    for policy in policies[1:]:
        for one, other in zip(policies[0].scores_, policy.scores_, strict=True):
            np.testing.assert_array_equal(one.weights, other.weights)


def on_a_disk(array: Any) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_other_examples_are_extracted_for_themselves() -> None:
    model = fitted()
    changed = [x + 0.5 for x in X]
    SEEN.clear()
    IteratedPolicy(max_iter=5, random_state=0).fit(model, changed, Y)
    assert set(SEEN) == {row.tobytes() for x in changed for row in x}
    assert most() == 1


def test_examples_that_were_changed_in_place_are_extracted_anew() -> None:
    rows = [x.copy() for x in X]
    model = fitted(examples=rows)
    for row in rows:
        row += 1
    SEEN.clear()
    folds = crossfit(model, rows, Y, random_state=0)
    assert (len(SEEN), most()) == (N, 1)
    fresh = crossfit(fitted(examples=rows), rows, Y, random_state=0)
    for one, other in zip(folds, fresh, strict=True):
        np.testing.assert_array_equal(one.everything, other.everything)


def test_where_sequences_begin_counts() -> None:
    def place(parts: np.ndarray, context: Context) -> np.ndarray:
        return context.positions

    groups = [FeatureGroup("half", half), FeatureGroup("place", place, cost=9)]
    parts, labels = np.concatenate(X), np.concatenate(Y)
    model = ChainClassifier(groups, max_iter=1, random_state=0).fit(parts, labels, lengths=[1] * N)
    others = model._extracted(Sequences.of(parts[:N], lengths=[N]))
    assert others.extracted.values[1].ravel().tolist() == list(range(N))


def test_other_groups_are_extracted_anew() -> None:
    model = fitted()
    model.feature_groups = [model.feature_groups[0], FeatureGroup("squares", Counting(), cost=9)]
    SEEN.clear()
    crossfit(model, X, Y, random_state=0)
    assert (len(SEEN), most()) == (N, 1)


def test_clones_measure_what_the_model_measured() -> None:
    groups = [FeatureGroup("half", half), FeatureGroup("squares", Counting())]
    model = ChainClassifier(groups, max_iter=1, random_state=0).fit(X, Y)
    for fold in crossfit(model, X, Y, random_state=0):
        np.testing.assert_array_equal(fold.model.group_costs_, model.group_costs_)
    assert (model.group_costs_ > 0).all()


def test_a_certificate_extracts_once() -> None:
    model, (more, _) = fitted(), make_chains(300, n_features=6, noise=1.5, random_state=1)
    policy = UniformPolicy().fit(model)
    SEEN.clear()
    BudgetedPredictor(model, policy, risk=0.2, random_state=0).fit(more)
    assert (len(SEEN), most()) == (sum(map(len, more)), 1)


def test_little_is_kept() -> None:
    model = fitted()
    assert sum(rows.nbytes for rows in model._kept[2].values if rows is not None) <= N * (3 + 6) * 4
    assert not hasattr(clone(model), "_kept")
    assert all(not hasattr(fold.model, "_kept") for fold in crossfit(model, X, Y, random_state=0))
    assert not hasattr(ChainClassifier(max_iter=1).fit(X, Y), "_kept")  # no extractor, nothing to keep
    assert keep_features().memory == 2**28
