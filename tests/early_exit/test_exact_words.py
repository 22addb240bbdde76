"""What a certificate says where every row is evaluated in full and no label can differ."""

from __future__ import annotations

import pytest
from commands.running import done
from early_exit.models import X2, wrap, y2
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald import EarlyExitClassifier

BY_PROOF = "the model's own labels, by proof: every row is evaluated in full by wald's engine"


@pytest.fixture(scope="module")
def fast():
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X2[:800], y2[:800])
    return EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()


def test_a_forest_without_rows_has_the_models_own_labels_by_proof(fast):
    assert str(fast.certificate_) == BY_PROOF
    assert fast.certificate_.verify()


def test_rows_change_nothing_where_no_lossless_exit_pays():
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X2[:800], y2[:800])
    assert str(wrap(model, X2[800:1600], risk=0).certificate_) == BY_PROOF


def test_a_model_whose_rest_is_its_own_does_not_name_the_engine():
    linear = wrap(LogisticRegression().fit(X2[:800], y2[:800]), X2[800:1600], risk=0)
    assert linear.plan_.evaluate_all
    assert str(linear.certificate_) == "the model's own labels, by proof: every row is evaluated in full"


@pytest.mark.filterwarnings("ignore:The file holds")
def test_inspect_and_report_say_so(tmp_path):
    pytest.importorskip("jinja2")
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1).fit(X2[:800], y2[:800])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    wald.save(fast, tmp_path / "model.wald")
    assert BY_PROOF in " ".join(done("inspect", tmp_path / "model.wald").stdout.split())
    assert "by proof" in str(wald.report(fast, X2[800:1200], timed=False))
