"""Models that mix bought groups in every term: surrogates on some groups say for which rows the others are fetched."""

from __future__ import annotations

import asyncio
import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.svm import SVC

from wald import CallError, Calls, EarlyExitClassifier, LazyRows, Planner, save
from wald.early_exit.compiled.certification import certificate_scores
from wald.early_exit.fitting import bought_parts, selection
from wald.early_exit.fitting.bought_parts import _split, behind_groups, mixes_groups
from wald.early_exit.fitting.bought_sets import Prices, chosen_sets
from wald.models import decompose
from wald.models.bought import BoughtTerms
from wald.surrogates import learn_on_columns

GROUPS = {"blood": [4, 5], "free": [0, 1, 2, 3], "scan": [6, 7]}
COSTS = {"blood": 20.0, "scan": 150.0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3800, 8))
WEIGHTS = np.array([3.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.7, 0.7])
TRAIN, FIT, TEST = slice(0, 1000), slice(1000, 2800), slice(2800, 3800)
y, y3 = X @ WEIGHTS > 0, np.digitize(X @ WEIGHTS, [-3.0, 3.0])
MODELS = {
    "trees": (HistGradientBoostingClassifier(max_iter=20), y),
    "trees, three classes": (HistGradientBoostingClassifier(max_iter=8), y3),
    "a kernel": (SVC(), y),
    "a function": (lambda rows: np.where(np.asarray(rows) @ WEIGHTS > 0, "yes", "no"), None),
}
for estimator, labels in MODELS.values():
    if labels is not None:
        estimator.fit(X[TRAIN], labels[TRAIN])


class Providers:
    """Fetch groups of some rows, and remember which."""

    def __init__(self, rows):
        self.X, self.rows, self.fails = rows, {group: [] for group in COSTS}, {}

    def fetch(self, group, rows):
        if len(self.rows[group]) + len(rows) > self.fails.get(group, 10**9):
            raise ConnectionError("no route")
        self.rows[group] += rows.tolist()
        return self.X[np.ix_(rows, GROUPS[group])]

    async def later(self, group, rows):
        await asyncio.sleep(0)
        return self.fetch(group, rows)

    def lazy(self, **given):
        groups = {
            "free": self.X[:, GROUPS["free"]],
            "blood": Calls(lambda rows: self.fetch("blood", rows), batch_size=50),
            "scan": Calls(lambda rows: self.later("scan", rows), batch_size=50, max_concurrency=2),
        }
        return LazyRows(len(self.X), groups, **{"columns": GROUPS, "costs": COSTS} | given)

    @property
    def counts(self):
        assert all(len(set(rows)) == len(rows) for rows in self.rows.values())
        return {group: len(rows) for group, rows in self.rows.items()}


@cache
def fitted(name):
    """Fitted on lazy rows."""
    providers = Providers(X[FIT])
    fast = EarlyExitClassifier(MODELS[name][0], risk=0.03, random_state=0).fit(providers.lazy())
    assert providers.counts == {"blood": 1800, "scan": 1800}
    return fast


@pytest.mark.parametrize("name", MODELS)
def test_groups_are_fetched_for_rows_that_are_not_clear(name):
    fast, providers = fitted(name), Providers(X[TEST])
    lazy = providers.lazy()
    answers = fast.predict(lazy, details=True)
    counts = providers.counts
    assert counts["scan"] < 700
    assert counts["scan"] <= counts["blood"]
    # rows that did not leave early have the model's own label, and the others mostly
    model = MODELS[name][0]
    full, own = answers.stages == fast.plan_.n_stages, getattr(model, "predict", model)(X[TEST])
    assert np.array_equal(answers.labels[full], own[full])
    assert (answers.labels != own).mean() <= 0.05  # the promise is 0.03
    assert full.sum() == counts["scan"]
    # what a row costs is the price of the groups that were bought for it
    spent = sum(COSTS[group] * n for group, n in counts.items())
    assert answers.costs.sum() == pytest.approx(spent + 1000 * lazy.costs["free"])
    assert fast.plan_.full_cost == pytest.approx(sum(lazy.costs.values()))
    # what was fetched stays, and rows that are all there need nothing
    assert np.array_equal(fast.predict(lazy), answers.labels)
    assert np.array_equal(fast.predict(X[TEST]), answers.labels)
    assert [fast.predict_one(row) for row in X[TEST][:5]] == answers.labels[:5].tolist()
    assert providers.counts == counts


def test_a_budget_buys_no_more():
    fast, providers = fitted("trees"), Providers(X[TEST])
    first = float(fast.plan_.stage_costs[0])
    answers = fast.predict(providers.lazy(), budget=first, details=True)
    assert (answers.costs == first).all()
    assert providers.counts["scan"] == 0


@pytest.mark.parametrize("name", ["trees", "a function"])
@pytest.mark.parametrize("when", [{"blood": 200}, {"scan": 100}, {"blood": 0, "scan": 0}])
def test_a_call_that_fails_carries_what_is_decided(name, when):
    fast, providers = fitted(name), Providers(X[TEST])
    answers = fast.predict(X[TEST], details=True)
    providers.fails = when
    lazy = providers.lazy()
    with pytest.raises(CallError, match=r"failed for row .* rows are decided, in .partial") as found:
        fast.predict(lazy)
    partial = found.value.partial
    assert found.value.unit in when
    assert np.array_equal(partial.labels[partial.decided], answers.labels[partial.decided])
    assert np.array_equal(partial.costs, np.where(partial.decided, answers.costs, 0.0))
    assert "blood" in when or partial.decided.sum() > 500
    providers.fails = {}
    resumed = fast.predict(lazy, resume=partial, details=True)
    assert np.array_equal(resumed.labels, answers.labels)
    assert np.array_equal(resumed.costs, answers.costs)
    untouched, counts = Providers(X[TEST]), providers.counts
    fast.predict(untouched.lazy())
    assert counts == untouched.counts


def test_names_in_any_order_and_other_doors():
    pd = pytest.importorskip("pandas")
    names = [f"x{c}" for c in range(8)]
    frame = pd.DataFrame(X, columns=names)
    model = HistGradientBoostingClassifier(max_iter=20).fit(frame[TRAIN], y[TRAIN])
    columns = {group: [names[c] for c in places] for group, places in GROUPS.items()}
    fast = EarlyExitClassifier(model, risk=0.1, random_state=0)
    fast.fit(Providers(X[FIT]).lazy(columns=columns), groups=np.repeat(np.arange(900), 2))
    assert "random row of a random group" in str(fast.certificate_)
    assert list(fast.feature_names_in_) == names
    providers = Providers(X[TEST])
    labels = fast.predict(providers.lazy(columns=columns))
    assert providers.counts["scan"] < 600
    assert np.array_equal(fast.predict(frame[TEST]), labels)
    records = frame[TEST][:20].to_dict("records")
    assert np.array_equal(fast.predict_records(records), labels[:20])
    assert np.array_equal(fast.predict_proba(frame[TEST]), model.predict_proba(frame[TEST]))
    again = pickle.loads(pickle.dumps(fast))
    assert np.array_equal(again.predict(Providers(X[TEST]).lazy(columns=columns)), labels)


def test_what_is_said():
    fast = fitted("trees")
    explained = fast.explain(X[0])
    assert explained.parts[-1].name == "HistGradientBoostingClassifier"
    assert all("scan" not in part.name for part in explained.parts[:-1])
    assert explained.cost_unit == "feature cost"
    assert fast.compiled_plan_.model.fingerprint() != fitted("a kernel").compiled_plan_.model.fingerprint()
    with pytest.raises(TypeError, match=r"surrogates on some of its groups\. Keep the estimator with joblib or pickle"):
        save(fast, "unused.wald")


def test_audited_rows_are_fetched_in_full():
    watched, providers = fitted("trees").watched(0.1), Providers(X[TEST])
    labels = watched.predict(providers.lazy())
    assert np.array_equal(labels, fitted("trees").predict(X[TEST]))
    n_full = (fitted("trees").predict(X[TEST], details=True).stages == fitted("trees").plan_.n_stages).sum()
    assert n_full < providers.counts["scan"] < 1000


def test_other_certificates():
    fast, providers = fitted("trees"), Providers(X[TEST])
    assert fast.recertify(providers.lazy()).certificate_.status == "certified"
    assert providers.counts == {"blood": 1000, "scan": 1000}


def test_missing_values_count_where_they_are_read():
    fast, rows = fitted("a kernel"), X[TEST].copy()
    stages = fast.predict(rows, details=True).stages
    early, full = np.flatnonzero(stages == 0)[0], np.flatnonzero(stages == fast.plan_.n_stages)[3]
    rows[early, 7] = np.nan
    assert len(fast.predict(Providers(rows).lazy())) == 1000
    rows[full, 7] = np.nan
    with pytest.raises(ValueError, match=rf"contains NaN in row {full}, column 7"):
        fast.predict(Providers(rows).lazy())
    rows[5, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN in row 5, column 1"):
        fast.predict(Providers(rows).lazy())


def test_nothing_pays():
    def only(rows):
        return np.where(np.asarray(rows)[:, 7] > 0, "yes", "no")

    fast = EarlyExitClassifier(only, risk=0.01, random_state=0)
    fast.fit(Providers(X[FIT]).lazy(costs={"blood": 1e-3, "scan": 1.0}))
    assert fast.plan_.evaluate_all
    assert "evaluating everything costs no more" in str(fast.certificate_)
    providers = Providers(X[TEST])
    assert np.array_equal(fast.predict(providers.lazy()), only(X[TEST]))
    assert providers.counts == {"blood": 1000, "scan": 1000}


def test_what_needs_the_models_own_terms_keeps_them():
    model = MODELS["trees"][0]
    for params in (
        {"feature_costs": np.ones(8)},
        {"feature_groups": GROUPS},
        {"risk": 0.0},
        {"bands": [0.2, 0.8]},
        {"tolerance": 0.1},
        {"planner": Planner(order="sorted")},
        {"surrogates": [model]},
    ):
        given, rows = EarlyExitClassifier(model, **params), Providers(X[FIT])
        everything = np.arange(1800)
        assert behind_groups(given, decompose(model), model, rows.lazy(), everything, None, RNG, print) is None
        assert rows.counts == {"blood": 0, "scan": 0}


def test_which_models_mix_groups():
    apart = HistGradientBoostingClassifier(max_iter=5, interaction_cst=list(GROUPS.values()))
    assert not mixes_groups(decompose(apart.fit(X[TRAIN], y[TRAIN])), GROUPS)
    forest = RandomForestClassifier(5, max_depth=6, random_state=0).fit(X[TRAIN], y[TRAIN])
    assert mixes_groups(decompose(forest), GROUPS)
    stumps = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X[TRAIN], y[TRAIN])
    assert not mixes_groups(decompose(stumps), GROUPS)


def test_a_function_that_answers_otherwise_when_it_is_asked_again():
    random = np.random.default_rng(1)
    fast = EarlyExitClassifier(lambda rows: random.integers(2, size=len(rows)), random_state=0)
    with pytest.raises(ValueError, match=r"answered .* of 64 rows otherwise when it was asked again"):
        fast.fit(Providers(X[FIT]).lazy())


def test_errors_of_such_a_function_count_where_the_truth_is_promised():
    random = np.random.default_rng(1)
    fast = EarlyExitClassifier(
        lambda rows: rows @ WEIGHTS + random.normal(size=len(rows)) > 0,
        reference="labels",
        risk=0.1,
        random_state=0,
    )
    assert fast.fit(Providers(X[FIT]).lazy(), y[FIT]).certificate_.verify()


@pytest.mark.parametrize("given", [{"max_calls": 600}, {"answers": {0: True}}])
@pytest.mark.parametrize("name", ["trees", "a function"])
def test_what_limits_the_calls_of_fit_is_refused_before_any(name, given):
    providers = Providers(X[FIT])
    with pytest.raises(ValueError, match="fit fetches all groups of all rows"):
        EarlyExitClassifier(MODELS[name][0], random_state=0).fit(providers.lazy(), **given)
    assert providers.counts == {"blood": 0, "scan": 0}


@pytest.mark.parametrize("name", ["trees", "a function"])
def test_a_deadline_makes_no_more_calls(name):
    fast, asked = fitted(name), {}
    for deadline in (None, 60.0):
        lazy = Providers(X[TEST]).lazy()
        labels = fast.predict(lazy, deadline=deadline)
        asked[deadline] = [(counts.calls, counts.rows) for counts in lazy.counts.values()]
        assert np.array_equal(labels, fast.predict(X[TEST]))
    assert asked[None] == asked[60.0]


@pytest.mark.parametrize("name", ["trees", "a function"])
def test_a_group_that_fails_before_the_deadline_carries_what_is_decided(name):
    fast, providers = fitted(name), Providers(X[TEST])
    providers.fails["scan"] = 20
    with pytest.raises(CallError, match="scan") as found:
        fast.predict(providers.lazy(), deadline=60.0)
    partial, labels = found.value.partial, fast.predict(X[TEST])
    assert 0.2 < partial.decided.mean() < 1
    assert np.array_equal(partial.labels[partial.decided], labels[partial.decided])
    assert np.array_equal(fast.predict(Providers(X[TEST]).lazy(), resume=partial), labels)


def test_rows_to_learn_from():
    for risk, n, expected in (
        (0.01, 1000, 350),
        (0.01, 20_000, 10_000),
        (0.01, 100_000, 60_000),
        ({"all": 0.01, "yes": 0.002, "no": 0.0}, 100_000, 50_000),
        (None, 1000, 600),
        (0.05, 10**6, 80_000),
    ):
        learnt, rest = _split(n, EarlyExitClassifier(SVC(), risk=risk), None, RNG)
        assert len(learnt) == expected
        assert np.array_equal(np.sort(np.concatenate([learnt, rest])), np.arange(n))


@pytest.mark.parametrize("grouped", [False, True])
def test_no_row_that_surrogates_know_certifies(monkeypatch, grouped):
    learnt, certified = [], []

    def learn(source, *args, **kwargs):
        learnt.append(source.array())
        return learn_on_columns(source, *args, **kwargs)

    def choose(prices, columns, rows, *rest):
        learnt.append(rows)
        return chosen_sets(prices, columns, rows, *rest)

    def score(model, plan, rows, *rest):
        certified.append(np.asarray(rows.raw.array()))
        return certificate_scores(model, plan, rows, *rest)

    monkeypatch.setattr(bought_parts, "learn_on_columns", learn)
    monkeypatch.setattr(bought_parts, "chosen_sets", choose)
    monkeypatch.setattr(selection, "certificate_scores", score)
    rows = X[FIT][:500]
    groups = np.arange(500) // 2
    fast = EarlyExitClassifier(MODELS["trees"][0], risk=0.2, random_state=0, planner=Planner(n_splits=2))
    fast.fit(Providers(rows).lazy(), groups=groups if grouped else None)
    place = {row[0]: i for i, row in enumerate(rows)}
    known, counted = ([place[row[0]] for some in parts for row in some] for parts in (learnt, certified))
    assert len(certified) == 2
    assert len(learnt) > 2
    assert not set(known) & set(counted)
    assert not grouped or not set(groups[known]) & set(groups[counted])


def test_prices_and_sets():
    assert Prices.of({"a": 1.0}) is None
    few = Prices.of({"a": 10.0, "free": 0.1, "b": 5.0})
    assert few.cheap == {"free"}
    assert few.dear == ["a", "b"]
    columns = {"free": [0], "a": [1], "b": [2]}
    sets = chosen_sets(few, columns, X[:50, :3], y[:50].astype(int), RNG)
    assert sets == [{"free"}, {"free", "a"}, {"free", "b"}]
    # of many groups a chain, of which the group that tells most for its price is the first
    many = Prices.of({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 4.0})
    columns = {name: [c] for c, name in enumerate("abcde")}
    scores = X[:2000, :5] @ [0.1, 3.0, 0.2, 1.0, 3.0]
    chain = chosen_sets(many, columns, X[:2000, :5], scores[:, None], np.random.default_rng(0))
    assert chain == [{"b"}, {"b", "e"}, {"b", "d", "e"}, {"b", "c", "d", "e"}]


def test_chains():
    terms = BoughtTerms(
        (1, 1, 1), (), 2, "model", (frozenset("a"), frozenset("ab"), frozenset("ac")), {"a": 1, "b": 2, "c": 5}
    )
    assert terms.chains() == [[0], [1], [2], [0, 1], [0, 2]]
    assert terms.paid([0, 2]).tolist() == [1.0, 6.0, 8.0]
    assert terms.paid([]).tolist() == [8.0]
    sets = tuple(frozenset("abcdefghij"[: k + 1]) for k in range(9))
    long = BoughtTerms((1,) * 9, (), 2, "model", sets, dict.fromkeys("abcdefghij", 1.0))
    chains = long.chains()
    assert [*range(9)] in chains
    assert [0, 1, 2] in chains
    assert [0, *range(2, 9)] in chains
