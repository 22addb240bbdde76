"""The model's way to a worker, and the answers of one partition; no engine is needed."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from clusters.cases import LABELS, make_case
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald.clusters import Job, receive, ship, shipping

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

PLAIN = {"columns": None, "keep": None, "return_cost": True, "return_stage": True, "budget": None}


def job_of(model, there, **options):
    shipment, received = ship(model)
    return shipment, Job.of(received, there, **PLAIN | options)


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_are_those_of_one_machine(kind):
    case = make_case(kind)
    shipment, job = job_of(case.model, case.rows.columns)
    frame = job.answer_frame(shipment, case.rows)
    table = job.answer_arrow(shipment, pyarrow.Table.from_pandas(case.rows))
    for found in (frame, table.to_pandas()):
        assert found["label"].tolist() == case.labels.tolist()
        assert found["cost"].tolist() == case.cost.tolist()
        assert np.array_equal(case.model.plan_.stage_costs[found["stage"]], case.cost)
    assert frame.columns.tolist() == [*case.rows.columns, "label", "cost", "stage"]
    empty = job.answer_frame(shipment, case.rows[:0])
    assert empty.dtypes.equals(frame.dtypes)
    assert job.answer_arrow(shipment, pyarrow.Table.from_pandas(case.rows[:0])).schema.types == table.schema.types


def test_order_of_columns_does_not_matter_where_there_are_names(case):
    shipment, job = job_of(case.model, case.rows.columns)
    shuffled = case.rows[case.rows.columns[::-1]]
    assert job.answer_frame(shipment, shuffled).equals(job.answer_frame(shipment, case.rows))


def test_a_model_without_names_takes_the_columns_in_their_order(kernel_case):
    shipment, job = job_of(kernel_case.model, kernel_case.rows.columns, keep=["id"])
    assert job.columns == tuple(f"x{i}" for i in range(8))
    found = job.answer_frame(shipment, kernel_case.rows[kernel_case.rows.columns[::-1]])
    assert found["label"].tolist() == kernel_case.labels.tolist()
    assert found["cost"].tolist() == kernel_case.cost.tolist()


def test_columns_of_other_names_and_kept_columns_named_as_answers(case):
    rows = case.rows.rename(columns={f"x{i}": f"z{i}" for i in range(8)}).assign(label="old", input_label="older")
    shipment, job = job_of(case.model, rows.columns, columns=[f"z{i}" for i in range(8)], keep=["label", "input_label"])
    found = job.answer_frame(shipment, rows)
    assert found.columns.tolist() == ["input_input_label", "input_label", "label", "cost", "stage"]
    assert found["label"].tolist() == case.labels.tolist()
    assert set(found["input_input_label"]) == {"old"}
    assert set(found["input_label"]) == {"older"}


@pytest.mark.parametrize("dtype", ["float32", "int64", "Float64", "object"])
def test_columns_of_other_dtypes(case, dtype):
    whole = case.rows.round(0) if dtype == "int64" else case.rows
    rows = whole.astype({f"x{i}": dtype for i in range(3)})
    shipment, job = job_of(case.model, rows.columns)
    expected = case.model.predict(rows[[f"x{i}" for i in range(8)]])
    assert job.answer_frame(shipment, rows)["label"].tolist() == expected.tolist()


def test_categories_that_are_kept_stay_categories(case):
    rows = case.rows.assign(kind=pandas.Categorical(["a", "b"] * (len(case.rows) // 2)))
    shipment, job = job_of(case.model, rows.columns)
    assert job.answer_frame(shipment, rows)["kind"].dtype == rows["kind"].dtype
    assert pyarrow.types.is_dictionary(job.answer_arrow(shipment, pyarrow.Table.from_pandas(rows))["kind"].type)


def test_a_budget_is_passed_on(case):
    budget = float(case.model.plan_.stage_costs[0])
    shipment, job = job_of(case.model, case.rows.columns, budget=budget)
    expected = case.model.predict(case.rows.drop(columns="id"), budget=budget)
    assert job.answer_frame(shipment, case.rows)["label"].tolist() == expected.tolist()
    with pytest.raises(ValueError, match="budget must be at least"):
        job_of(case.model, case.rows.columns, budget=budget / 2)


def test_probabilities_are_those_of_one_machine(case, kernel_case):
    shipment, job = job_of(case.model, case.rows.columns, keep=["id"], proba=True, return_cost=True)
    own = case.model.predict_proba(case.rows.drop(columns="id"))
    found = job.answer_frame(shipment, case.rows)
    assert found.columns.tolist() == ["id", "label", "cost", "stage", "proba_no", "proba_yes"]
    assert found["label"].tolist() == case.labels.tolist()
    np.testing.assert_array_equal(found[["proba_no", "proba_yes"]], own)
    arrow = job.answer_arrow(shipment, pyarrow.Table.from_pandas(case.rows))
    np.testing.assert_array_equal(np.column_stack(arrow.columns[4:]), own)
    empty = job.answer_frame(shipment, case.rows[:0])
    assert empty.dtypes.equals(found.dtypes)
    _, job = job_of(case.model, [*case.rows.columns, "proba_no"], proba=True)
    assert ("proba_no", "input_proba_no") in job.kept
    with pytest.raises(TypeError, match="proba=True needs a model with probabilities, and this SVC has none"):
        job_of(kernel_case.model, kernel_case.rows.columns, keep=["id"], proba=True)


@pytest.mark.filterwarnings("error")
def test_probabilities_of_a_model_without_names():
    case = make_case("int", HistGradientBoostingClassifier(max_iter=20), named=False)
    shipment, job = job_of(case.model, case.rows.columns, keep=["id"], proba=True)
    own = case.model.estimator_.predict_proba(case.rows.drop(columns="id").to_numpy())
    np.testing.assert_array_equal(job.answer_frame(shipment, case.rows)[["proba_3", "proba_7"]], own)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["x0", "x1"]}, "has 8 features, and 2 columns"),
        ({"columns": ["x0"] * 8}, "more than once"),
        ({"keep": ["nothing"]}, "lacks columns to keep: 'nothing'"),
        ({"there": ["x0", "x1", "id"]}, "lacks the columns 'x2', .*It has 'x0', 'x1', 'id'"),
        ({"there": ["x0", "x0"]}, "different names"),
    ],
)
def test_wrong_columns_are_named(case, options, message):
    with pytest.raises(ValueError, match=message):
        job_of(case.model, **{"there": case.rows.columns} | options)


def test_one_name_is_no_list_of_names(case):
    with pytest.raises(TypeError, match="keep must be a list of names"):
        job_of(case.model, case.rows.columns, keep="id")


@pytest.mark.parametrize("options", [{"keep": [["id"]]}, {"columns": [["x0"]]}, {"groups": ["id"]}])
def test_lists_of_names_are_no_names(case, options):
    with pytest.raises(TypeError, match=f"{next(iter(options))} must be .*Got "):
        job_of(case.model, case.rows.columns, **options)


def test_a_partition_that_lacks_a_column_is_refused(case):
    shipment, job = job_of(case.model, case.rows.columns)
    with pytest.raises(ValueError, match="The partition lacks columns: 'x3'"):
        job.answer_frame(shipment, case.rows.drop(columns="x3"))
    with pytest.raises(ValueError, match="The batch lacks columns: 'x3'"):
        job.answer_arrow(shipment, pyarrow.Table.from_pandas(case.rows.drop(columns="x3")))


def test_too_many_columns_for_a_model_without_names(kernel_case):
    with pytest.raises(ValueError, match=r"has 9 columns of features; the model takes 8\. .*columns=\[\.\.\.\]"):
        job_of(kernel_case.model, kernel_case.rows.columns)


# ---- the way to a worker ---------------------------------------------------------------------------------------------


def test_a_file_travels_and_not_a_pickle(case, tmp_path):
    wald.save(case.model, tmp_path / "fast.wald")
    by_path, _ = ship(tmp_path / "fast.wald")
    by_object, _ = ship(case.model)
    assert by_path.raw == by_object.raw == (tmp_path / "fast.wald").read_bytes()
    assert by_path.key == by_object.key
    assert b"EarlyExitClassifier" not in pickle.dumps(by_object).replace(by_object.raw, b"")
    with pytest.raises(ValueError, match="saved already"):
        ship(tmp_path / "fast.wald", pipeline="skops")


def test_a_process_loads_a_model_once(case, monkeypatch):
    shipment, _ = ship(case.model)
    shipping._kept.clear()
    loads = []
    monkeypatch.setattr(shipping, "from_bytes", lambda *a, **k: loads.append(1) or wald.persistence.from_bytes(*a, **k))
    again = pickle.loads(pickle.dumps(shipment))
    threads = [threading.Thread(target=receive, args=(s,)) for s in (shipment, again) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert receive(shipment) is receive(again)
    for n_jobs in range(2, 2 + shipping.MOST_KEPT):
        receive(dataclasses.replace(shipment, n_jobs=n_jobs))
    assert len(shipping._kept) == shipping.MOST_KEPT


def test_tasks_have_one_thread_unless_told_otherwise(case):
    assert receive(ship(case.model)[0]).n_jobs == 1
    assert receive(ship(case.model, n_jobs=2)[0]).n_jobs == 2


@pytest.mark.parametrize("by_path", [False, True])
def test_workers_do_not_audit(case, tmp_path, by_path):
    watched = case.model.watched(1.0, on_broken="full")
    wald.save(watched, tmp_path / "fast.wald")
    shipment, received = ship(tmp_path / "fast.wald" if by_path else watched)
    job = Job.of(received, case.rows.columns, **PLAIN)
    hard = pandas.concat([case.rows[case.cost == case.cost.max()]] * 20)  # rows of another kind
    expected = case.model.predict(hard.drop(columns="id"), return_cost=True)
    for _ in range(3):
        found = job.answer_frame(shipment, hard)
        assert found["label"].tolist() == expected[0].tolist()
        assert found["cost"].tolist() == expected[1].tolist()
    for model in (received, receive(shipment)):
        assert not hasattr(model, "monitor_")
    assert watched.monitor_.n_rows == 0
    assert watched.monitor_.audit_rate == 1.0


def test_workers_evaluate_in_full_where_the_sender_does(case, tmp_path):
    watched = case.model.watched(1.0, on_broken="full")
    watched.monitor_.restore(watched.monitor_.stage_counts, **watched.monitor_.counts() | {"state": "broken"})
    shipment, received = ship(watched)
    job = Job.of(received, case.rows.columns, **PLAIN)
    rows = case.rows.drop(columns="id")
    for _ in range(2):
        found = job.answer_frame(shipment, case.rows)
        assert found["label"].tolist() == case.model.estimator_.predict(rows).tolist()
        assert (found["cost"] == case.model.plan_.full_cost).all()
    assert receive(shipment).monitor_.n_rows == 0


def test_a_worker_of_another_version_says_so(case):
    shipment, _ = ship(case.model)
    with pytest.raises(RuntimeError, match=r"has wald .*, and the model was sent by wald 99\.1.*install wald 99\.1"):
        receive(dataclasses.replace(shipment, version="99.1"))


def test_what_is_no_classifier_is_refused(tmp_path):
    with pytest.raises(TypeError, match="Got LogisticRegression"):
        ship(LogisticRegression())
    with pytest.raises(FileNotFoundError):
        ship(tmp_path / "none.wald")


def test_a_model_whose_file_would_decide_ties_otherwise_is_refused(case):
    class Own(LogisticRegression):
        """A class that no file describes."""

    X, y = case.rows.drop(columns="id"), case.labels
    own = Own().fit(X[:500], y[:500])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = wald.EarlyExitClassifier(FrozenEstimator(own), risk=0.05, random_state=0).fit(X[500:])
        with pytest.raises(ValueError, match="do not give the answers of the wrapped Own at ties"):
            ship(model)
        exact = wald.EarlyExitClassifier(FrozenEstimator(own), risk=0, random_state=0).fit(X[500:])
        with pytest.raises(ValueError, match="do not give the answers of the wrapped Own"):
            ship(exact)


@pytest.mark.slow
def test_wald_alone_imports_no_engine():
    code = (
        "import sys, wald, wald.dask, wald.ray, wald.spark\n"
        "assert wald.dask.predict and wald.ray.predict and wald.spark.predict\n"
        "print([m for m in ('dask', 'distributed', 'ray', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("engine", ["dask", "ray", "spark"])
def test_a_missing_library_names_the_extra(case, engine, monkeypatch):
    library = {"dask": "dask", "ray": "ray", "spark": "pyspark.sql"}[engine]
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"wald\.{engine} needs .*pip install '\.\[{engine}\]' in a checkout"):
        getattr(wald, engine).predict(case.rows, case.model)
