"""`explain` says what a row's score is a sum of, what was read of it, and when the label was clear."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, VotingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner

UNITS = Planner(cost="units")


def summed(found: Any) -> Any:
    """The scores that the parts add up to."""
    return found.intercept + sum(part.adds for part in found.parts)


def table(n_classes: int) -> tuple[Any, Any]:
    return make_classification(
        4000, 6, n_informative=5, n_redundant=0, n_classes=n_classes, class_sep=1.5, random_state=0
    )


def people(n: int = 6000) -> tuple[Any, Any]:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "age": rng.normal(45, 15, n).round(),
            "city": rng.choice(["Cluj", "Brno", "Graz"], n),
            "income": rng.lognormal(10, 0.5, n),
        }
    )
    score = (frame["age"] - 45) / 5 + 3 * (frame["city"] == "Cluj") + (np.log(frame["income"]) - 10) / 2
    return frame, np.where(score + rng.normal(size=n) > 1, "yes", "no")


def columns() -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer([("numbers", numbers, ["age", "income"]), ("places", OneHotEncoder(), ["city"])])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=2000)),
        SVC(),
        GradientBoostingClassifier(n_estimators=20),
        VotingClassifier([("one", LogisticRegression()), ("two", DecisionTreeClassifier(max_depth=3))], voting="soft"),
    ],
    ids=["linear", "scaled", "opaque", "kernel", "trees", "votes"],
)
def test_the_parts_add_up_to_the_score(model: Any, n_classes: int) -> None:
    X, y = table(n_classes)
    fast = EarlyExitClassifier(model.fit(X[:500], y[:500]), risk=0.05, planner=UNITS, random_state=0).fit(X[500:3500])
    labels, costs = fast.predict(X[3500:], return_cost=True)
    stages = fast.stage_scores(X[3500:])[1]
    for i in [int(np.argmin(stages)), int(np.argmax(stages))]:
        x = X[3500 + i]
        found = fast.explain(x)
        np.testing.assert_allclose(summed(found), found.scores, atol=1e-9)
        if hasattr(model, "decision_function") and len(found.scores) in (1, n_classes):
            own = np.ravel(model.decision_function(x[None]))
            if not isinstance(model, SVC):  # whose own three scores are made of votes
                np.testing.assert_allclose(found.scores, own, atol=1e-9)
        assert (found.label, found.trace.stage, found.trace.cost) == (labels[i], stages[i], costs[i])
        assert all(part.stage <= stages[i] for part in found.read)
        assert {*found.read, *found.unread} == set(found.parts)
        assert [part.stage for part in found.parts] == sorted(part.stage for part in found.parts)


def test_columns_are_read_in_the_order_of_the_plan() -> None:
    X, y = table(2)
    model = LogisticRegression().fit(X[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(X[500:3500])
    stages = fast.stage_scores(X[3500:])[1]
    i = int(np.argmin(stages))
    found, plan = fast.explain(X[3500 + i]), fast.plan_
    seen = plan.terms[: plan.stage_terms[stages[i]]]
    assert [part.name for part in found.read] == [f"column {c}" for c in seen]
    assert [part.value for part in found.read] == X[3500 + i, seen].tolist()
    np.testing.assert_allclose([part.adds[0] for part in found.read], X[3500 + i, seen] * model.coef_[0, seen])
    assert len(found.unread) == 6 - len(seen)


@pytest.mark.parametrize("leaf", ["yes or no", "three"])
def test_raw_columns_of_a_column_transformer_have_their_raw_values(leaf: str) -> None:
    frame, bought = people()
    y = bought if leaf == "yes or no" else np.where(frame["age"] > 60, "old", bought)
    model = make_pipeline(columns(), LogisticRegression()).fit(frame[:2000], y[:2000])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(frame[2000:5000])
    row = {"income": 20_000.5, "age": 70.0, "city": "Cluj"}
    found = fast.explain(row)
    assert {part.name: part.value for part in found.parts} == row
    np.testing.assert_allclose(summed(found), found.scores, atol=1e-9)
    typed = frame[:1].assign(**row)[["city", "age", "income"]]  # the columns in another order
    np.testing.assert_allclose(found.scores, np.ravel(model.decision_function(typed[frame.columns])), atol=1e-9)
    assert {part.name: part.value for part in fast.explain(typed).parts} == row
    assert found.label == fast.predict_one(row)
    assert found.score_names == (("score",) if leaf == "yes or no" else ("no", "old", "yes"))
    places = model[0].named_transformers_["places"].categories_[0].tolist()
    own = model[1].coef_[:, 2 + places.index("Cluj")]
    np.testing.assert_allclose(next(part.adds for part in found.parts if part.name == "city"), own)


def test_what_the_model_refuses_is_refused_where_it_is_read() -> None:
    frame, bought = people()
    model = make_pipeline(columns(), LogisticRegression()).fit(frame[:2000], bought[:2000])
    exact = EarlyExitClassifier(model, risk=0, planner=UNITS).fit(frame[2000:3000])
    with pytest.raises(ValueError, match="Found unknown categories"):
        exact.explain({"age": 44.0, "city": "Oslo", "income": 3.0})
    with pytest.raises(ValueError, match=r"explain takes one row\. Got 2"):
        exact.explain(frame[:2])
    with pytest.raises(ValueError, match="age"):
        exact.explain({"city": "Graz", "income": 3.0})


def test_a_value_that_was_not_read_may_be_one_that_the_model_refuses() -> None:
    frame, bought = people()
    model = make_pipeline(columns(), LogisticRegression()).fit(frame[:2000], bought[:2000])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(frame[2000:5000])
    found = fast.explain({"age": 1.0, "city": "Oslo", "income": 3.0})
    assert found.label == "no"
    assert [part.name for part in found.unread if np.isnan(part.adds[0])] == ["city"]
    assert str(found).endswith("?: only the wrapped model can judge city = 'Oslo'.")
    assert found.as_dict()["scores"] == {"score": None}


def test_a_value_of_a_type_that_only_the_model_reads_has_no_parts() -> None:
    frame, bought = people()
    front = ColumnTransformer([("ages", "passthrough", ["age"]), ("places", OneHotEncoder(), ["city"])])
    model = make_pipeline(front, LogisticRegression()).fit(frame[:2000], bought[:2000])
    exact = EarlyExitClassifier(model, risk=0, planner=UNITS).fit(frame[2000:3000])
    rows = frame[3000:3003].assign(age=[Decimal(40), Decimal(50), Decimal(60)])  # as databases give numbers
    found = exact.explain(rows[:1])
    assert found.label == model.predict(rows[:1])[0]
    assert {part.name: bool(np.isnan(part.adds[0])) for part in found.parts} == {
        "age": True,
        "city": False,
    }
    assert np.isnan(found.scores).all()
    assert np.isnan(exact.trace(rows[:1]).scores[-1])
    assert np.isnan(exact.stage_scores(rows)[0][:, -1]).all()
    for study in (exact.looks, exact.recertify):
        with pytest.raises(ValueError, match=r"answers row 0, but only the model itself reads .* column 'age' \(0\)"):
            study(rows)
    with pytest.raises(ValueError, match="Found unknown categories"):
        exact.stage_scores(rows.assign(city="Oslo"))


def test_sparse_rows_that_only_the_model_reads_have_no_parts() -> None:
    X, y = table(2)
    model = make_pipeline(Binarizer(), LogisticRegression()).fit(X[:1000], y[:1000])
    exact = EarlyExitClassifier(model, risk=0, planner=UNITS).fit(X[1000:2000])
    rows = sparse.csr_matrix(np.where(np.abs(X[2000:2003]) > 1, X[2000:2003], 0.0))
    found = exact.explain(rows[:1])
    assert found.label == model.predict(rows[:1])[0]
    assert np.isnan(exact.stage_scores(rows)[0][:, -1]).all()


def test_a_trace_is_of_one_row() -> None:
    X, y = table(2)
    exact = EarlyExitClassifier(LogisticRegression().fit(X, y), risk=0, planner=UNITS).fit(X)
    for rows in (X[:2], X[:0], sparse.csr_matrix(X[:3])):
        with pytest.raises(ValueError, match=rf"trace takes one row\. Got {rows.shape[0]}"):
            exact.trace(rows)


def test_the_place_of_a_missing_value_is_said_once() -> None:
    X, y = table(2)
    exact = EarlyExitClassifier(LogisticRegression().fit(X, y), risk=0, planner=UNITS).fit(X)
    wrong = X[:1].copy()
    wrong[0, 2] = np.nan
    with pytest.raises(ValueError, match=r"\AInput X contains NaN in row 0, column 2\.\n"):
        exact.explain(wrong)


def test_sparse_rows_have_the_columns_that_are_not_zero() -> None:
    X, y = table(2)
    X = np.where(np.abs(X) > 1, X, 0.0)
    model = LogisticRegression().fit(sparse.csr_array(X[:500]), y[:500])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(sparse.csr_array(X[500:3500]))
    found = fast.explain(sparse.csr_array(X[3600:3601]))
    assert {part.name for part in found.parts} == {f"column {c}" for c in np.flatnonzero(X[3600])}
    np.testing.assert_allclose(summed(found), model.decision_function(X[3600:3601]), atol=1e-9)


TEXT = "Thanks for the great, great evening; the great café"


@pytest.mark.parametrize(
    "steps",
    [
        [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)],
        [CountVectorizer(strip_accents="ascii"), TfidfTransformer(norm="l1")],
        [HashingVectorizer(n_features=7)],
        [HashingVectorizer(n_features=1000, norm=None, alternate_sign=False)],
        [CountVectorizer(analyzer="char_wb", ngram_range=(2, 3))],
        [TfidfVectorizer(), SelectKBest(f_classif, k=6)],
    ],
    ids=["pairs", "apart", "few hashes", "many hashes", "characters", "selected"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_tokens_of_a_text_add_up_to_the_score(steps: list[Any], n_classes: int) -> None:
    texts = ["The café opened late.", "A great evening, thanks!", "Broken again, the thing"] * 20
    liked = np.array([0, 1, min(2, n_classes - 1)] * 20)
    model = make_pipeline(*steps, LogisticRegression(C=10)).fit(texts, liked)
    fast = EarlyExitClassifier(model, risk=0).fit()
    found = fast.explain(TEXT)
    np.testing.assert_allclose(summed(found), np.ravel(model.decision_function([TEXT])), atol=1e-9)
    assert found.label == model.predict([TEXT])[0]
    assert found.unread == ()
    np.testing.assert_allclose(fast.explain("").scores, fast.explain("").intercept)


def test_tokens_come_in_the_order_of_the_text_with_their_counts() -> None:
    texts = ["the café opened late", "a great evening, thanks", "broken again"] * 20
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, [0, 1, 0] * 20)
    found = EarlyExitClassifier(model, risk=0).fit().explain(TEXT)
    assert [(p.name, p.value) for p in found.parts] == [
        *(("thanks", 1), ("the", 2), ("great", 3), ("evening", 1), ("café", 1)),
    ]
    row, known = model[0].transform([TEXT]), model[0].vocabulary_
    expected = [row[0, known[part.name]] * model[1].coef_[0, known[part.name]] for part in found.parts]
    np.testing.assert_allclose([part.adds[0] for part in found.parts], expected)


def test_words_that_share_a_hash_are_one_part() -> None:
    texts = ["the café opened late", "a great evening, thanks", "broken again"] * 20
    model = make_pipeline(HashingVectorizer(n_features=2), LogisticRegression(C=10)).fit(texts, [0, 1, 0] * 20)
    found = EarlyExitClassifier(model, risk=0).fit().explain("thanks for opened café late again")
    assert len(found.parts) == 2
    assert sum(part.value for part in found.parts) == 6
    assert sorted(" ".join(p.name.replace(",", "") for p in found.parts).split()) == [
        *("again", "café", "for", "late", "opened", "thanks"),
    ]


def test_dicts_for_a_dict_vectorizer() -> None:
    rng = np.random.default_rng(0)
    rows = [{"city": str(rng.choice(["Cluj", "Graz"])), "age": float(rng.normal())} for _ in range(3000)]
    y = np.array([row["city"] == "Cluj" for row in rows])
    model = make_pipeline(DictVectorizer(), LogisticRegression()).fit(rows[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(rows[500:])
    found = fast.explain({"city": "Cluj", "age": 0.5})
    np.testing.assert_allclose(summed(found), model.decision_function([{"city": "Cluj", "age": 0.5}]), atol=1e-9)
    assert {"age", "city=Cluj"} <= {part.name for part in found.parts}


def test_trees_without_rows_are_one_part() -> None:
    X, y = table(2)
    model = HistGradientBoostingClassifier(max_iter=7).fit(X[:500], y[:500])
    found = EarlyExitClassifier(model, risk=0).fit().explain(X[600])
    assert [(part.name, part.value) for part in found.parts] == [("trees", 7)]
    np.testing.assert_allclose(summed(found), model.decision_function(X[600:601]))
    assert str(found).startswith("Label ")
    assert "Every row is evaluated in full, at a cost of 7 trees." in str(found)


def test_the_text_says_at_which_threshold_the_label_was_clear() -> None:
    X, y = table(2)
    model = LogisticRegression().fit(X[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(X[500:3500])
    stages = fast.stage_scores(X[3500:])[1]
    i = int(np.argmin(stages))
    found = fast.explain(X[3500 + i])
    low, high = fast.plan_.thresholds()
    estimate = found.trace.scores[stages[i]]
    limit, side = (low, "below") if estimate < low[stages[i]] else (high, "above")
    clear = next(line for line in str(found).splitlines() if line.endswith(": clear"))
    assert f"is {side} " in clear
    assert float(clear.split(f"is {side} ")[1].removesuffix(": clear")) == pytest.approx(limit[stages[i]], rel=0.01)
    assert f"clear at stage {stages[i] + 1} of {fast.plan_.n_stages}, at a cost of" in str(found)
    last = fast.explain(X[3500 + int(np.argmax(stages))])
    if last.trace.stage == fast.plan_.n_stages:
        assert "only the whole score was clear" in str(last)


def test_costs_of_the_user_are_no_columns() -> None:
    X, y = table(2)
    model = LogisticRegression().fit(X[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=0.05, feature_costs=[1.0, 2, 3, 4, 5, 6], random_state=0).fit(X[500:3500])
    found = fast.explain(X[3600])
    assert found.as_dict()["unit"] == "feature cost"
    assert "of 21.\n" in str(found)


def test_as_dict_is_json() -> None:
    frame, bought = people()
    model = make_pipeline(columns(), LogisticRegression()).fit(frame[:2000], bought[:2000])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(frame[2000:5000])
    found = fast.explain(frame[5000:5001])
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    total = told["intercept"]["score"] + sum(part["adds"]["score"] for part in told["parts"])
    assert total == pytest.approx(told["scores"]["score"])
    assert [part["read"] for part in told["parts"]] == [part["stage"] <= told["stage"] for part in told["parts"]]
    assert len(told["stages"]) == told["n_stages"] == fast.plan_.n_stages
    assert told["label"] == found.label


def test_long_rows_name_what_adds_most() -> None:
    X, y = make_classification(3000, 200, n_informative=10, random_state=0)
    model = LogisticRegression(max_iter=2000).fit(X[:1000], y[:1000])
    fast = EarlyExitClassifier(model, risk=0.001, random_state=0)
    with pytest.warns(UserWarning, match="rows"):
        fast.fit(X[1000:])
    found = fast.explain(X[5])
    text = str(found)
    largest = max(found.parts, key=lambda part: abs(part.adds[0]))
    assert largest.title in text
    assert "160 others" in text
