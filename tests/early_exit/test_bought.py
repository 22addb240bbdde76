"""Early exit on `LazyRows`: groups are fetched for the rows that reach a stage that reads them, and for no others."""

from __future__ import annotations

import asyncio
from functools import cache

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC

from wald import CallError, Calls, EarlyExitClassifier, EarlyExitRegressor, LazyRows
from wald.early_exit import Status
from wald.steps import RawColumns

GROUPS = {"blood": [4, 5, 6], "free": [0, 1, 2, 3], "scan": [7, 8, 9]}
COSTS = {"blood": 20.0, "scan": 150.0}


RNG = np.random.default_rng(0)
X, X3 = RNG.normal(size=(2, 4000, 10))
WEIGHTS = RNG.normal(size=(3, 10)) * np.repeat([1.0, 1.0, 0.7], [4, 3, 3])
y = X @ np.repeat([1.2, 1.0, 0.7], [4, 3, 3]) > 0
y3 = (X3 @ WEIGHTS.T).argmax(axis=1)
APART = {"max_iter": 30, "interaction_cst": list(GROUPS.values())}  # no tree reads two groups
MODELS = {
    "linear": (LogisticRegression(), X, y),
    "a scaler before": (make_pipeline(StandardScaler(), LogisticRegression()), X, y),
    "linear, three classes": (LogisticRegression(), X3, y3),
    "trees": (HistGradientBoostingClassifier(**APART), X, y),
    "trees, three classes": (HistGradientBoostingClassifier(**APART), X3, y3),
}


for estimator, rows, labels in MODELS.values():
    estimator.fit(rows[:1000], labels[:1000])


class Providers:
    """Fetch groups of some rows, and remember which."""

    def __init__(self, X, groups=GROUPS):
        self.X, self.groups, self.rows, self.fails = X, groups, {group: [] for group in groups}, {}

    def fetch(self, group, rows):
        left = self.fails.get(group, 10**9)
        if len(self.rows[group]) + len(rows) > left:
            raise ConnectionError("no route")
        self.rows[group] += rows.tolist()
        return self.X[np.ix_(rows, self.groups[group])]

    async def later(self, group, rows):
        await asyncio.sleep(0)
        return self.fetch(group, rows)

    def lazy(self, batch_size=None, **given):
        return LazyRows(
            len(self.X),
            {
                "free": self.X[:, self.groups["free"]],
                "scan": Calls(lambda rows: self.later("scan", rows), batch_size=batch_size, max_concurrency=2),
                "blood": Calls(lambda rows: self.fetch("blood", rows), batch_size=batch_size),
            },
            **{"columns": self.groups, "costs": COSTS} | given,
        )

    @property
    def counts(self):
        assert all(len(set(rows)) == len(rows) for rows in self.rows.values())
        return {group: len(rows) for group, rows in self.rows.items() if group in COSTS}


@cache
def fitted(name, **params):
    """Fitted on lazy rows, with what was fetched for it."""
    model, rows, _ = MODELS[name]
    providers = Providers(rows[1000:3000])
    fast = EarlyExitClassifier(FrozenEstimator(model), **nested(**{"risk": 0.05, "random_state": 0} | params))
    return fast.fit(providers.lazy()), providers.counts


def reached(fast, answers):
    """Rows that reach the first stage that reads each group."""
    by_stage = fast.compiled_plan_.columns_by_stage()
    first = {g: next(t for t, read in enumerate(by_stage) if set(GROUPS[g]) & set(read.tolist())) for g in COSTS}
    return {group: int((answers.stages >= stage).sum()) for group, stage in first.items()}


@pytest.mark.parametrize("name", MODELS)
def test_groups_are_fetched_for_the_rows_that_reach_them(name):
    fast, in_fit = fitted(name)
    rows = MODELS[name][1][3000:]
    assert in_fit == {"blood": 2000, "scan": 2000}
    answers = fast.compiled_plan_.predict(rows)
    providers = Providers(rows)
    lazy = providers.lazy(batch_size=100)
    labels, costs = fast.predict(lazy, return_cost=True)
    assert np.array_equal(labels, answers.labels)
    assert np.array_equal(costs, answers.costs)
    assert providers.counts == reached(fast, answers)
    assert providers.counts["scan"] < 900
    # what was fetched stays
    assert np.array_equal(fast.predict(lazy), labels)
    assert providers.counts == reached(fast, answers)
    spent = sum(COSTS[group] * n for group, n in providers.counts.items())
    assert costs.sum() == pytest.approx(spent + lazy.costs["free"] * 1000)
    assert lazy.cost_to_fetch() == 1000 * sum(COSTS.values()) - spent


@pytest.mark.parametrize("name", ["linear", "trees"])
def test_the_plan_is_that_of_the_same_groups_and_costs(name):
    fast, _ = fitted(name)
    model, rows, _ = MODELS[name]
    other = EarlyExitClassifier(
        FrozenEstimator(model),
        risk=0.05,
        random_state=0,
        feature_groups=GROUPS,
        feature_costs=COSTS | {"free": 0.02},
        **nested(cost="units"),
    ).fit(rows[1000:3000])
    assert all(map(np.array_equal, fast.compiled_plan_.columns_by_stage(), other.compiled_plan_.columns_by_stage()))
    assert fast.plan_.full_cost == pytest.approx(other.plan_.full_cost)
    assert str(fast.certificate_) == str(other.certificate_)


def test_transformers_of_single_columns():
    """They read groups as the stages need them. Where others mix groups, surrogates do, and nobody hides an error."""
    names = [f"x{c}" for c in range(10)]
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
    columns = {group: [names[c] for c in places] for group, places in GROUPS.items()}
    bins = KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    for before in (make_column_transformer((StandardScaler(), names[:5]), (bins, names[5:])), PCA(8)):
        model = make_pipeline(before, LogisticRegression(max_iter=500)).fit(frame[:1000], y[:1000])
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0)
        fast.fit(Providers(X[1000:3000]).lazy(columns=columns))
        answers = fast.predict(frame[3000:], details=True)
        providers = Providers(X[3000:])
        lazy = providers.lazy(columns=columns)
        providers.fails = {"scan": 0}
        with pytest.raises(CallError) as found:
            fast.predict(lazy)
        assert found.value.partial.decided.any()
        assert lazy.counts["scan"].calls == lazy.counts["scan"].failures  # nobody has hidden the error, and asked again
        providers.fails = {}
        assert np.array_equal(fast.predict(lazy, resume=found.value.partial), answers.labels)
        assert providers.counts["scan"] == (answers.costs > 150.0).sum()
        assert providers.counts["blood"] == ((answers.costs % 150.0) > 20.0).sum()


@pytest.mark.parametrize("name", ["linear", "trees"])
def test_prices_of_the_estimator_come_first(name):
    fast, _ = fitted(name, feature_costs=None, feature_groups=None)
    model, rows, _ = MODELS[name]
    other = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0, feature_costs=np.arange(1.0, 11.0))
    assert other.fit(Providers(rows[1000:3000]).lazy()).plan_.full_cost == 55.0
    assert fast.plan_.full_cost == pytest.approx(170.02)


@pytest.mark.parametrize("name", ["linear", "trees"])
def test_single_precision(name):
    fast, _ = fitted(name)
    single = MODELS[name][1][3000:].astype(np.float32)
    answers = fast.predict(single, details=True)
    providers = Providers(single)
    found = fast.predict(providers.lazy(dtype=np.float32), details=True)
    assert np.array_equal(found.labels, answers.labels)
    assert np.array_equal(found.stages, answers.stages)
    assert providers.counts == reached(fast, answers)


@pytest.mark.parametrize("name", ["linear", "trees"])
def test_everything_is_fetched_where_everything_is_evaluated(name):
    fast, _ = fitted(name, risk=0.0)
    providers = Providers(MODELS[name][1][3000:])
    assert np.array_equal(fast.predict(providers.lazy()), MODELS[name][0].predict(providers.X))
    assert max(providers.counts.values()) <= 1000


def test_a_budget_buys_no_more():
    fast, _ = fitted("linear")
    rows = MODELS["linear"][1][3000:]
    providers = Providers(rows)
    assert np.array_equal(fast.predict(providers.lazy(), budget=1.0), fast.predict(rows, budget=1.0))
    assert providers.counts == {"blood": 0, "scan": 0}
    assert len(fast.predict(Providers(rows[:0]).lazy())) == 0


def test_models_that_are_asked_with_whole_rows():
    """Surrogates that are given read whole rows: everything is fetched."""
    svc, given = SVC().fit(X[:400], y[:400]), LogisticRegression().fit(X[:1000], y[:1000])
    fast = EarlyExitClassifier(FrozenEstimator(svc), risk=0.05, surrogates=[given], random_state=0)
    fast.fit(Providers(X[1000:3000]).lazy())
    providers = Providers(X[3000:])
    assert np.array_equal(fast.predict(providers.lazy()), fast.predict(X[3000:]))
    assert providers.counts == {"blood": 1000, "scan": 1000}


def test_names_in_any_order():
    pd = pytest.importorskip("pandas")
    names = [f"x{c}" for c in range(10)]
    frame = pd.DataFrame(X, columns=names)
    model = LogisticRegression().fit(frame[:1000], y[:1000])
    columns = {group: [names[c] for c in places] for group, places in GROUPS.items()}
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0)
    fast.fit(Providers(X[1000:3000]).lazy(columns=columns))
    assert list(fast.feature_names_in_) == names
    providers = Providers(X[3000:])
    assert np.array_equal(fast.predict(providers.lazy(columns=columns)), fast.predict(frame[3000:]))
    assert providers.counts["scan"] < 900
    # a group of which the model reads nothing
    few = LogisticRegression().fit(frame[names[:7]][:1000], y[:1000])
    providers = Providers(X[1000:3000])
    fast = EarlyExitClassifier(FrozenEstimator(few), risk=0.05, random_state=0)
    assert fast.fit(providers.lazy(columns=columns)).n_features_in_ == 7
    assert providers.counts == {"blood": 2000, "scan": 0}
    with pytest.raises(ValueError, match="lacks the column 'x6'"):
        fast.predict(providers.lazy(columns=columns | {"blood": ["x4", "x5", "y"]}))


def test_an_estimator_that_fit_trains():
    providers = Providers(X[:3000])
    fast = EarlyExitClassifier(LogisticRegression(), risk=0.05, random_state=0).fit(providers.lazy(), y[:3000])
    assert providers.counts == {"blood": 3000, "scan": 3000}
    assert np.array_equal(fast.predict(Providers(X[3000:]).lazy()), fast.predict(X[3000:]))


def test_missing_values_name_their_group():
    fast, _ = fitted("linear")
    rows = MODELS["linear"][1][3000:].copy()
    stages = fast.predict(rows, details=True).stages
    early, undecided = np.flatnonzero(stages == 1), np.flatnonzero(stages == 2)
    rows[early, 8] = rows[undecided[5], 8] = np.nan  # what is not fetched is no error
    providers = Providers(rows)
    with pytest.raises(ValueError, match=rf"contains NaN in row {undecided[5]}, column 8"):
        fast.predict(providers.lazy())
    assert providers.counts["scan"] == len(undecided)


FAILING = {
    "at the first group": {"blood": 200},
    "at the second group": {"scan": 100},
    "at once": {"blood": 0, "scan": 0},
}


@pytest.mark.parametrize("when", FAILING)
@pytest.mark.parametrize("name", MODELS)
def test_a_call_that_fails_carries_what_is_decided(name, when):
    fast, _ = fitted(name)
    rows = MODELS[name][1][3000:]
    answers = fast.compiled_plan_.predict(rows)
    providers = Providers(rows)
    providers.fails = FAILING[when]
    lazy = providers.lazy(batch_size=50)
    with pytest.raises(CallError, match=r"failed for row .* rows are decided, in .partial") as found:
        fast.predict(lazy)
    partial = found.value.partial
    assert 0 < partial.decided.sum() < 1000
    assert np.array_equal(partial.labels[partial.decided], answers.labels[partial.decided])
    assert np.array_equal(partial.costs, np.where(partial.decided, answers.costs, 0.0))
    providers.fails = {group: limit + 50 for group, limit in providers.fails.items()}
    with pytest.raises(CallError) as again:
        fast.predict(lazy, resume=partial)
    assert (again.value.partial.decided >= partial.decided).all()
    providers.fails = {}
    resumed = fast.predict(lazy, resume=again.value.partial, details=True)
    assert np.array_equal(resumed.labels, answers.labels)
    assert np.array_equal(resumed.costs, answers.costs)
    assert np.array_equal(resumed.stages, answers.stages)
    assert providers.counts == reached(fast, answers)


def test_rows_in_full_by_the_wrapped_model():
    """An error then carries that nothing is decided, and no columns in place of labels."""
    fast, _ = fitted("linear", risk=0.0)
    providers = Providers(X[3000:])
    providers.fails = {"scan": 0}
    with pytest.raises(CallError) as found:
        fast.predict(providers.lazy())
    assert found.value.partial.labels.shape == (1000,)
    providers.fails = {}
    labels = fast.predict(providers.lazy(), resume=found.value.partial)
    assert np.array_equal(labels, MODELS["linear"][0].predict(X[3000:]))


def test_resume_of_something_else():
    fast, _ = fitted("linear")
    providers = Providers(X[3000:])
    providers.fails = {"blood": 0, "scan": 0}
    with pytest.raises(CallError) as found:
        fast.predict(providers.lazy())
    partial = found.value.partial
    with pytest.raises(ValueError, match="resume is about 1000 rows, and X has 999"):
        fast.predict(X[3001:], resume=partial)
    with pytest.raises(TypeError, match="resume must be the partial of a CallError"):
        fast.predict(X[3000:], resume=found.value)
    assert np.array_equal(fast.predict(X[3000:], resume=partial), fast.predict(X[3000:]))


def test_audited_rows_are_fetched_in_full():
    fast, _ = fitted("linear")
    watched = fast.watched(0.1)
    providers = Providers(X[3000:])
    assert np.array_equal(watched.predict(providers.lazy()), fast.predict(X[3000:]))
    early = int((fast.predict(X[3000:], details=True).status == Status.EARLY).sum())
    assert 1000 - early < providers.counts["scan"] < 1000
    assert watched.monitor_.n_rows == 1000


def test_rows_that_an_earlier_call_has_decided_are_watched():
    fast, _ = fitted("linear")
    watched, providers = fast.watched(1.0), Providers(X[3000:])
    providers.fails = {"scan": 100}
    lazy = providers.lazy(batch_size=50)
    with pytest.raises(CallError) as found:
        watched.predict(lazy)
    assert found.value.partial.decided.sum() > 100
    assert watched.monitor_.n_rows == 0
    providers.fails = {}
    watched.predict(lazy, resume=found.value.partial)
    assert watched.monitor_.n_rows == watched.monitor_.n_audits == 1000
    whole = fast.watched(1.0)
    whole.predict(X[3000:])
    assert watched.monitor_.n_disagreements == whole.monitor_.n_disagreements > 0


@pytest.mark.parametrize("grouped", [False, True])
def test_an_audit_that_fails_loses_no_answer(grouped):
    fast, _ = fitted("linear")
    groups = None
    if grouped:
        fast = EarlyExitClassifier(FrozenEstimator(MODELS["linear"][0]), risk=0.05, random_state=0)
        fast.fit(Providers(X[1000:3000]).lazy(), groups=np.arange(2000) // 2)
        groups = np.arange(1000) // 2
    answers = fast.predict(X[3000:], details=True)
    watched, providers = fast.watched(1.0), Providers(X[3000:])
    providers.fails = {"scan": reached(fast, answers)["scan"]}  # enough for all answers
    lazy = providers.lazy()
    with pytest.raises(CallError, match=r"1000 of 1000 rows are decided, in .partial") as found:
        watched.predict(lazy, groups=groups)
    partial = found.value.partial
    assert np.array_equal(partial.labels, answers.labels)
    assert np.array_equal(partial.costs, answers.costs)
    assert watched.monitor_.n_rows == 0
    providers.fails = {}
    assert np.array_equal(watched.predict(lazy, groups=groups, resume=partial), answers.labels)
    assert watched.monitor_.n_rows == watched.monitor_.n_audits == (500 if grouped else 1000)


Xr = np.random.default_rng(0).normal(size=(4000, 10))
SUM = Xr @ np.array([3.0, 3.0, 2.0, 2.0, 0.7, 0.7, 0.7, 0.3, 0.3, 0.3])
VALUES = {
    "linear": (LinearRegression(), SUM, 1.0),
    "Poisson": (PoissonRegressor(alpha=0.0), np.random.default_rng(1).poisson(np.exp(SUM / 8)), 0.25),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_within_a_tolerance(kind):
    model, target, tolerance = VALUES[kind]
    model.fit(Xr[:1000], target[:1000])
    fast = EarlyExitRegressor(FrozenEstimator(model), tolerance=tolerance, risk=0.1, random_state=0)
    fast.fit(Providers(Xr[1000:3000]).lazy())
    rows, providers = Xr[3000:], Providers(Xr[3000:])
    values = fast.predict(rows)
    assert np.array_equal(fast.predict(providers.lazy()), values)
    assert providers.counts["blood"] > 100
    assert providers.counts["scan"] < 1000
    providers = Providers(rows)
    lazy, providers.fails = providers.lazy(batch_size=10), {"blood": 50}
    with pytest.raises(CallError) as found:
        fast.predict(lazy)
    partial = found.value.partial
    assert np.array_equal(partial.labels[partial.decided], values[partial.decided])
    providers.fails = {}
    assert np.array_equal(fast.predict(lazy, resume=partial), values)


SEVERAL = {
    "probabilities of two": (LogisticRegression(), SUM > 0, 0.1),
    "probabilities of three": (LogisticRegression(), np.digitize(SUM, [-3.0, 3.0]), 0.1),
    "several values": (LinearRegression(), SUM[:, None] * [1.0, -2.0, 0.5], 1.0),
}


@pytest.mark.parametrize("when", ["blood", "scan"])
@pytest.mark.parametrize("kind", SEVERAL)
def test_several_numbers_within_a_tolerance_where_a_call_fails(kind, when):
    model, target, tolerance = SEVERAL[kind]
    model.fit(Xr[:1000], target[:1000])
    made = EarlyExitRegressor if kind == "several values" else EarlyExitClassifier
    fast = made(FrozenEstimator(model), tolerance=tolerance, risk=0.1, random_state=0)
    fast.fit(Providers(Xr[1000:3000]).lazy())
    rows, providers = Xr[3000:], Providers(Xr[3000:])
    answers = fast.predict(rows)
    lazy, providers.fails = providers.lazy(batch_size=10), {when: 0}
    with pytest.raises(CallError) as found:
        fast.predict(lazy)
    partial = found.value.partial
    assert partial.labels.shape == answers.shape
    assert partial.labels.dtype == answers.dtype
    assert np.array_equal(partial.labels[partial.decided], answers[partial.decided])
    providers.fails = {when: 10}
    with pytest.raises(CallError) as again:
        fast.predict(lazy, resume=partial)
    providers.fails = {}
    assert np.array_equal(fast.predict(lazy, resume=again.value.partial), answers)


@pytest.mark.parametrize("kind", SEVERAL)
def test_several_numbers_of_which_hardly_any_leaves_early(kind):
    model, target, _ = SEVERAL[kind]
    model.fit(Xr[:1000], target[:1000])
    made = EarlyExitRegressor if kind == "several values" else EarlyExitClassifier
    fast = made(FrozenEstimator(model), tolerance=1e-9, risk=0.1, random_state=0)
    fast.fit(Providers(Xr[1000:3000]).lazy())
    providers = Providers(Xr[3000:])
    lazy, providers.fails = providers.lazy(), {"scan": 0}
    with pytest.raises(CallError) as found:
        fast.predict(lazy)
    assert found.value.partial.decided.mean() < 0.2
    assert found.value.partial.labels.shape == fast.predict(Xr[3000:]).shape
    providers.fails = {}
    assert np.array_equal(fast.predict(lazy, resume=found.value.partial), fast.predict(Xr[3000:]))


def test_decisions_about_more_rows_than_steps_take_at_once(monkeypatch):
    fast, _ = fitted("a scaler before")
    answers, providers = fast.predict(X[3000:]), Providers(X[3000:])
    monkeypatch.setattr(RawColumns, "rows_at_once", 100)
    lazy, providers.fails = providers.lazy(), {"scan": 20}
    with pytest.raises(CallError) as found:
        fast.predict(lazy)
    assert len(found.value.partial.labels) == 1000
    providers.fails = {}
    assert np.array_equal(fast.predict(lazy, resume=found.value.partial), answers)
