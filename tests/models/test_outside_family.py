"""A family from outside the package works everywhere: plan, certificate, prediction, displays, command line, file."""

import importlib
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wald
from wald.displays import CostHistogramDisplay, StoppingPathDisplay
from wald.engine import PythonTerms
from wald.models import Terms, check_terms, checks, decompose, families, protocols
from wald.models.planning import Planning
from wald.persistence import SavedModel


@pytest.fixture
def registered(monkeypatch):
    """Register the family, and unregister it afterwards."""
    table, names = importlib.import_module("wald.models.families"), importlib.import_module("wald.models.terms")
    monkeypatch.setattr(table, "_REGISTERED", list(table._REGISTERED))
    monkeypatch.setattr(names, "_BY_NAME", dict(names._BY_NAME))
    monkeypatch.delitem(sys.modules, "models.quadratic", raising=False)
    return importlib.import_module("models.quadratic")


@pytest.fixture(params=["two", "ten"])
def data(request):
    X, y = load_digits(return_X_y=True)
    X = PCA(12, random_state=0).fit_transform(X / 16)
    y = y if request.param == "ten" else (y > 4).astype(int)
    model = QuadraticDiscriminantAnalysis(reg_param=0.05).fit(X[:500], y[:500])
    return model, X


def test_it_keeps_the_contract(registered, data):
    model, X = data
    check_terms(decompose(model).terms, model, X[500:600])
    assert families()["quadratic"] is registered.QuadraticTerms


def test_it_goes_all_the_way(registered, data, tmp_path):
    model, X = data
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[500:1400])
    assert fast.certificate_.status == "certified"
    assert not fast.plan_.evaluate_all
    labels, cost = fast.predict(X[1400:], return_cost=True)
    assert (labels != model.predict(X[1400:])).mean() <= 0.1
    assert cost.mean() < 0.8 * decompose(model).terms.n_terms
    for n in (1, 5, 100):  # the same bits whatever the call
        assert np.array_equal(np.concatenate([fast.predict(X[i : i + n]) for i in range(1400, 1700, n)]), labels[:300])
    assert [fast.predict_one(x) for x in X[1400:1420]] == labels[:20].tolist()
    scores, stages = fast.stage_scores(X[1400:])
    assert np.isfinite(scores).all()
    assert np.array_equal(fast.plan_.stage_costs[stages], cost)
    CostHistogramDisplay.from_estimator(fast, X[1400:])
    StoppingPathDisplay.from_estimator(fast, X[1400:])
    with pytest.warns(UserWarning, match="not the estimator itself"):
        wald.save(fast, tmp_path / "quadratic.wald")
    loaded = wald.load(tmp_path / "quadratic.wald")
    assert isinstance(loaded.estimator_, SavedModel)
    assert np.array_equal(loaded.predict(X[1400:]), labels)
    whole = wald.load(tmp_path / "quadratic.wald", estimator=model)
    assert np.array_equal(whole.predict(X[1400:]), labels)


def test_the_command_line_knows_it(registered, data, tmp_path):
    from commands.running import done, said

    model, X = data
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[500:1400])
    with pytest.warns(UserWarning, match="not the estimator itself"):
        wald.save(fast, tmp_path / "quadratic.wald")
    assert "quadratic model" in done("inspect", tmp_path / "quadratic.wald").stdout
    facts = said("inspect", tmp_path / "quadratic.wald")["model"]
    assert (facts["family"], facts["unit"]) == ("quadratic", "products")


def test_risk_0_gives_the_models_own_labels(registered, data):
    model, X = data
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[500:1400])
    assert np.array_equal(fast.predict(X), model.predict(X))


def test_a_pipeline_that_is_not_folded(registered, data):
    model, X = data
    steps = make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.05))
    steps.fit(X[:500], model.predict(X[:500]))
    read = decompose(steps)
    assert read.preprocessing is not None
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(steps), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[500:1400])
    assert (fast.predict(X[1400:]) != steps.predict(X[1400:])).mean() <= 0.1


#: What breaks each clause: the protocols that the family has, and what its class has of its own.
BROKEN = {
    "shape": ((), {"n_features": property(lambda self: self.width + 1)}),
    "names": ((), {"unit_name": ""}),
    "protocols": ((), {"columns_read": lambda self, terms: terms}),
    "planning": ((), {"planning": Planning(certificate_share=1.0)}),
    "values": ((), {"values": lambda self, X, which=None: np.zeros((len(X), 1))}),
    "a row alone": ((), {"values": lambda self, X, which=None: self.good(X, which) + 1e-9 * len(X)}),
    "labels": ((), {"coef": property(lambda self: -self.kept)}),
    "sum": ((), {"scores": lambda self, X: np.zeros((len(X), self.n_outputs))}),
    "integers": ((), {"scores": lambda self, X: Terms.scores(self, X) + (X.dtype.kind == "i")}),
    "packing": (
        (protocols.Packable,),
        {
            "pack": lambda self, order, surrogates=None, precision="float64": PythonTerms(self, order),
            "packed_bytes": lambda self, n_surrogates, precision: 0,
        },
    ),
    "bounds": (
        (protocols.Bounded,),
        {
            "ranges": lambda self, low, high: (np.zeros(self.n_terms), np.zeros(self.n_terms)),
            "rounding": lambda self, low, high, working: 0.0,
        },
    ),
    "folding": ((protocols.Foldable,), {"after": lambda self, columns, n_steps: self}),
    "columns": ((protocols.Columnwise,), {"columns_read": lambda self, terms: np.zeros(len(terms), dtype=np.int64)}),
    "units": (
        (protocols.Priced,),
        {"units": lambda self, names, groups, costs, run: wald.models.Units((np.arange(1),), np.ones(1))},
    ),
    "prices": (
        (protocols.Sharing,),
        {
            "units": lambda self, names, groups, costs, run: wald.models.Units.single(self.n_terms),
            "units_by_columns": lambda self, units: units,
        },
    ),
    "owners": ((protocols.Owned,), {"owners": lambda self: np.full(self.n_terms, self.n_outputs)}),
    "sums": ((protocols.Summed,), {"pass_work": lambda self, order, ends, columnar: lambda *about: 0.0}),
    "steps": (
        (protocols.Stepped,),
        {
            "leaf_counts": lambda self: np.ones(self.n_terms, dtype=np.int64),
            "leaves": lambda self, X, which: np.zeros((len(X), len(which)), dtype=np.int32),
            "at_thresholds": lambda self, n_rows, rng: None,
        },
    ),
    "vectors": (
        (protocols.Comparing,),
        {
            "training_rows": lambda self: np.zeros((3, self.width + 1)),
            "mapped": lambda self, X: X,
            "surrogates": lambda self, X, scores, n_classes: None,
        },
    ),
    "stand-ins": (
        (protocols.Delegating,),
        {"score_method": None, "with_stand_ins": lambda self, model, stand_in: None},
    ),
    "file": (
        (protocols.Filed,),
        {
            "encode": lambda self: {},
            "decode": classmethod(lambda cls, section, n_outputs: 1 / 0),
        },
    ),
}


def test_every_sum_has_twelve_members():
    assert len({*Terms.__annotations__, *(name for name in vars(Terms) if not name.startswith("_"))}) == 12


def test_every_clause_can_be_broken():
    assert BROKEN.keys() == checks.CLAUSES.keys()
    asked = {protocol for protocol, _ in checks.CLAUSES.values()}
    assert asked | {protocols.Filed} == {*checks.PROTOCOLS, Terms}


@pytest.mark.parametrize("clause", BROKEN)
def test_a_broken_promise_is_named(registered, data, clause):
    model, X = data
    good = decompose(model).terms
    having, changes = BROKEN[clause]
    terms = object.__new__(type("Broken", (registered.QuadraticTerms, *having), {"family": "", **changes}))
    if clause != "names":
        type(terms).family = "broken"
    kept = {"intercept": good.intercept, "width": good.width, "kept": good.coef, "coef": good.coef}
    for name, value in kept.items():
        if name not in changes:
            object.__setattr__(terms, name, value)
    type(terms).good = lambda self, X, which=None: registered.QuadraticTerms.values(self, X, which)
    with pytest.raises(AssertionError, match=rf"^\[{clause}\] Broken: "):
        check_terms(terms, model, X[500:600])


def test_what_a_family_does_not_bring_has_a_default(registered, data):
    model, _ = data
    terms = decompose(model).terms
    assert {protocol.of(terms) for protocol in checks.PROTOCOLS} == {None}
    assert protocols.units_of(terms).total == terms.n_terms
    with pytest.raises(ValueError, match="the products of a quadratic model read every feature at once"):
        protocols.units_of(terms, costs=np.ones(terms.n_features))
    low, high, rounding = protocols.bounds(terms, np.zeros(terms.n_features), np.ones(terms.n_features), 2.0**-53)
    assert np.isinf([*low, *high, rounding]).all()
    assert protocols.owners_of(terms) is protocols.training_rows(terms) is None


def test_a_protocol_that_is_half_written_is_refused(registered):
    half = type("Half", (registered.QuadraticTerms, protocols.Bounded), {"family": "", "ranges": lambda *_: ()})
    with pytest.raises(TypeError, match=r"abstract method '?rounding"):
        half(np.zeros((1, 1)), np.zeros(1), 1)


def test_two_families_cannot_share_a_name(registered):
    with pytest.raises(TypeError, match="a family of models called 'linear' already"):
        type("Other", (registered.QuadraticTerms,), {"family": "linear"})
