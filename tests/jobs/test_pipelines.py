"""Jobs of pipelines: columns in the types that `fit` saw, from folders, Arrow IPC and large documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
import pandas
import pyarrow
from pyarrow.parquet import ParquetFile, read_table, write_table
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import wald
from wald.jobs import JobError, Options, run
from wald.models import file_columns

R = np.random.default_rng(0)
N = 600
FRAME = pandas.DataFrame(
    {
        "month": R.choice(["01", "02", "11"], N),
        "city": R.choice(["Cluj", "Brno"], N),
        "a": R.normal(size=N),
        "unread": R.normal(size=N),
    }
)
Y = (FRAME["month"] == "01") ^ (FRAME["city"] == "Cluj") ^ (FRAME["a"] > 1)


@pytest.fixture(scope="module")
def model() -> Any:
    parts = [("c", OneHotEncoder(handle_unknown="ignore"), ["month", "city"]), ("n", StandardScaler(), ["a"])]
    return make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(FRAME, Y.astype(int))


@pytest.fixture(scope="module")
def fast(model: Any) -> Any:
    return wald.EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=wald.Planner(cost="units")).fit(FRAME)


def labels(out: Path) -> list[int]:
    parts = sorted(out.glob("part-*"))
    found: list[int] = pyarrow.concat_tables(map(read_table, parts))["label"].to_pylist()
    return found


def test_a_folder_gives_a_column_of_texts(tmp_path: Path, model: Any, fast: Any) -> None:
    """``month=01`` is the text 01 where an encoder knows texts, though all folders look like numbers."""
    expected: list[int] = []
    for month in ("01", "02", "11"):
        some = FRAME[FRAME["month"] == month]
        (tmp_path / "in" / f"month={month}").mkdir(parents=True)
        some[["a", "city"]].to_parquet(tmp_path / "in" / f"month={month}" / "x.parquet", index=False)
        expected += model.predict(some).tolist()
    report = run(fast, [str(tmp_path / "in")], tmp_path / "out", model="m", options=Options(keep=("month",)))
    assert labels(tmp_path / "out") == expected
    assert report.left_out == {}


def test_arrow_files(tmp_path: Path, model: Any, fast: Any) -> None:
    table = pyarrow.Table.from_pandas(FRAME[["a", "city", "month"]], preserve_index=False)
    table = table.set_column(1, "city", table["city"].dictionary_encode())
    with pyarrow.ipc.new_file(tmp_path / "x.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=100)
    run(fast, [str(tmp_path / "x.arrow")], tmp_path / "out", model="m", options=Options())
    assert labels(tmp_path / "out") == model.predict(FRAME).tolist()


def test_columns_that_no_transformer_reads_may_be_missing_and_are_known(tmp_path: Path, model: Any, fast: Any) -> None:
    FRAME.assign(more=1).to_parquet(tmp_path / "x.parquet", index=False)
    FRAME.drop(columns="unread").to_parquet(tmp_path / "y.parquet")
    report = run(fast, [str(tmp_path / "*.parquet")], tmp_path / "out", model="m", options=Options())
    assert labels(tmp_path / "out") == 2 * model.predict(FRAME).tolist()
    assert report.left_out == {"more": 1}


def test_one_file_of_another_type(tmp_path: Path, fast: Any) -> None:
    FRAME.to_parquet(tmp_path / "x.parquet", index=False)
    FRAME.assign(city=1).to_parquet(tmp_path / "y.parquet")
    data = [str(tmp_path / "*.parquet")]
    with pytest.raises(JobError, match=r"y\.parquet: the model takes texts in the column 'city'.* holds int64"):
        run(fast, data, tmp_path / "out", model="m", options=Options())
    report = run(fast, data, tmp_path / "out", model="m", options=Options(skip_bad=True))
    assert len(report.skipped) == 1
    assert report.n_rows == N


def test_documents_are_read_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_columns, "DOCUMENT_BYTES", 10_000)
    texts = [" ".join(f"w{v}" for v in R.integers(0, 40, 200)) for _ in range(200)]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, np.arange(200) % 2)
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=wald.Planner(cost="units")).fit(texts)
    table = pyarrow.table({"id": np.arange(200), "text": pyarrow.array(texts)})
    write_table(table, tmp_path / "x.parquet", use_dictionary=False, compression="none")
    columns = file_columns.FileColumns.of(fast.compiled_plan_.model)
    assert columns is not None
    size = file_columns.rows_at_once(ParquetFile(tmp_path / "x.parquet").metadata, columns, ["text"], 1 << 20)
    assert 5 < size < 30
    seen: list[int] = []
    predict = fast.compiled_plan_.predict
    monkeypatch.setattr(fast.compiled_plan_, "predict", lambda X, **more: (seen.append(len(X)), predict(X, **more))[1])
    run(fast, [str(tmp_path / "x.parquet")], tmp_path / "out", model="m", options=Options(text="text"))
    assert max(seen) == size
    assert labels(tmp_path / "out") == model.predict(texts).tolist()
    for options, said in (
        (Options(), "2 columns that may hold the model's texts: name one, --text COLUMN, of 'id', 'text'."),
        (Options(text="texts"), "--text: .* has no column 'texts'; it has 'id', 'text'."),
        (Options(text="id"), "the model takes texts in the column 'id', and the file holds int64."),
    ):
        with pytest.raises(JobError, match=said):
            run(fast, [str(tmp_path / "x.parquet")], tmp_path / "other", model="m", options=options)
