"""Write the corpus anew: ``python -m fuzz.make_corpus``. Models are small ones of the libraries that are installed."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # before the imports below, which need it: E402

import numpy as np  # noqa: E402
from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, SVR  # noqa: E402
from trees.texts import TEXTS  # noqa: E402

import wald  # noqa: E402
from wald.datasets import make_chains, make_trees  # noqa: E402
from wald.early_exit.compiled.compiled_plan import ValidationRows  # noqa: E402
from wald.online import AttentivePerceptron  # noqa: E402
from wald.persistence import to_bytes  # noqa: E402
from wald.structured import ChainClassifier, DependencyParser, Treebank  # noqa: E402

FOLDER = Path(__file__).with_name("corpus")

Files = dict[str, bytes]


def rows(classes: int, n: int = 240) -> tuple[Any, Any]:
    return make_classification(
        n, 3, n_informative=3, n_redundant=0, n_classes=classes, n_clusters_per_class=1, random_state=0
    )


def early(model: Any, classes: int = 2, **params: Any) -> Any:
    X, y = rows(classes)
    params = {"planner": wald.Planner(cost="units"), "random_state": 0} | params
    fast = wald.EarlyExitClassifier(FrozenEstimator(model.fit(X[:40], y[:40])), **params)
    fast.fit(X[40:])
    if params["risk"]:  # few rows of stage scores, so that most mutations alter other parts
        compiled = fast.compiled_plan_
        compiled.validation = ValidationRows(compiled.validation.scores.take(np.arange(4)))
    return fast


def others(X: Any, y: Any) -> dict[str, Any]:
    """Regressors, a ranker and an outlier detector."""
    ranker = TEXTS["model.txt"].replace(b"objective=binary sigmoid:1", b"objective=lambdarank")
    values = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, X[:, :2])
    target = TransformedTargetRegressor(SVR(), transformer=StandardScaler()).fit(X[:20], y[:20])
    forest = IsolationForest(n_estimators=4, max_samples=8, contamination=0.2, random_state=0).fit(X[:40])
    return {
        "values": wald.EarlyExitRegressor(values).fit(),
        "target": wald.EarlyExitRegressor(target).fit(),
        "ranker": wald.EarlyExitRanker(wald.read_model(ranker)).fit(),
        "outliers": wald.EarlyExitOutlierDetector(forest, risk=0).fit(),
    }


def own_files() -> Files:
    chains, labels = make_chains(10, n_features=2, random_state=0)
    X, y = rows(3)
    learner = AttentivePerceptron(max_iter=1, tol=None, random_state=0, warm_up=16, ring_size=16)
    bank = Treebank.from_words([[("Dogs", "NOUN", "NNS", 2, "nsubj"), ("bark", "VERB", "VBP", 0, "root")]] * 9)
    parser = DependencyParser(table_bits=8, max_iter=1, relations=False, feature_groups="tags", random_state=0)
    return {
        "linear": to_bytes(early(LogisticRegression(), risk=0.2)),
        "rbf": to_bytes(early(make_pipeline(StandardScaler(), SVC()), risk=0.2)),
        "three": to_bytes(early(LogisticRegression(), 3, risk=0.2)),
        "forest": to_bytes(early(RandomForestClassifier(3, max_depth=2, random_state=0), risk=0.2)),
        **{name: to_bytes(model) for name, model in others(X, y).items()},
        "trees": to_bytes(wald.EarlyExitClassifier(wald.read_model(TEXTS["model.txt"]), risk=0).fit()),
        "online": to_bytes(learner.fit(X, y)),
        "chain": to_bytes(ChainClassifier(max_iter=1, random_state=0).fit(chains, labels)),
        "parser.gz": gzip.compress(to_bytes(parser.fit(bank)), mtime=0),  # its tables are mostly zeros
    }


def lightgbm_files() -> Files:
    import lightgbm

    files = {"by-hand": TEXTS["model.txt"]}
    for classes in (2, 3):
        X, y = rows(classes)
        model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=3, verbose=-1, n_jobs=1).fit(X, y)
        files[f"{classes}-classes"] = model.booster_.model_to_string().encode()
    return files


def xgboost_files(kind: str) -> Files:
    import xgboost

    files = {"by-hand": TEXTS[f"xgboost.{kind}"]}
    X, y = rows(3)
    for name, settings in {"trees": {}, "dart": {"booster": "dart"}}.items():
        model = xgboost.XGBClassifier(n_estimators=1, max_depth=1, n_jobs=1, **settings).fit(X, y)
        files[name] = bytes(model.get_booster().save_raw(kind))
    return files


def catboost_files() -> Files:
    import catboost

    X, y = rows(3)
    files = {"by-hand": TEXTS["catboost.json"], "nested-by-hand": TEXTS["nested.json"]}
    for name, policy in {"symmetric": "SymmetricTree", "lossguide": "Lossguide"}.items():
        model = catboost.CatBoostClassifier(
            iterations=2, depth=2, grow_policy=policy, verbose=False, allow_writing_files=False, thread_count=1
        ).fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(str(Path(folder) / "model.json"), format="json")
            document = json.loads((Path(folder) / "model.json").read_bytes())
        document["model_info"] = {key: document["model_info"][key] for key in ("class_params",)} | {
            "params": {"loss_function": document["model_info"]["params"]["loss_function"]}
        }
        files[name] = json.dumps(document).encode()
    return files


def conll_files() -> Files:
    bank = make_trees(2, random_state=0).to_bytes()
    word = "{}\t{}\t_\tNOUN\tNN\t_\t{}\t{}\t_\t_\n"
    rare = (
        "# sent_id = 1\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + word.format(1, "vamos", 0, "root")
        + word.format(2, "nos", 1, "obj")
        + "2.1\te\te\t_\t_\t_\t_\t_\t1:x\tCopyOf=1\n\n"
        + word.format(1, "日本", "_", "_")
    )
    return {
        "made-up": bank,
        "rare": rare.encode(),
        "crlf": bank.partition(b"\n\n")[0].replace(b"\n", b"\r\n") + b"\r\n",
    }


def letter_files() -> Files:
    rng = np.random.default_rng(0)
    letters = [("a", 2, 3), ("b", -1, 3), ("z", -1, 0), ("q", 5, 9), ("u", 6, 9), ("i", -1, 9)]
    lines = [
        "\t".join(map(str, [i + 1, letter, follows, 1, i, fold, *rng.integers(0, 2, 128)])) + "\t\n"
        for i, (letter, follows, fold) in enumerate(letters)
    ]
    return {"six": "".join(lines).encode()}


def table_rows() -> Any:
    return np.random.default_rng(0).normal(size=(4, 3)).round(3)


def csv_files() -> Files:
    body = ["1.5,-2,0.25\n", "0,1e-3,7\n", "-3,,nan\n"]
    aside = "id,g,größe,b,a\n" + "".join(f'"r{i}",{i % 2},{line}' for i, line in enumerate(body))
    return {
        "names": ("a,b,größe\n" + "".join(body)).encode(),
        "plain": "".join(body).encode(),
        "aside": aside.encode(),
        "semicolons": "".join(body).replace(",", ";").encode(),
        "packed": gzip.compress("".join(body).encode(), mtime=0),
    }


def svmlight_files() -> Files:
    return {
        "from-1": b"1 1:0.5 3:-2 # note\n-1 2:1e-3\n0\n",
        "from-0": b"1 0:0.5 2:-2\n-1 1:1e-3\n",
        "queries": b"# a comment\n2 qid:1 1:1 2:2 3:3\n\n1 qid:2 3:4\n",
    }


def npy_files() -> Files:
    files = {}
    for name, array in {
        "float64": table_rows(),
        "four-columns": np.arange(8.0, dtype=np.float32).reshape(2, 4),
        "fortran": np.asfortranarray(table_rows().astype(np.float32)),
        "bytes": np.arange(6, dtype=np.uint8).reshape(2, 3),
    }.items():
        file = io.BytesIO()
        np.save(file, array)
        files[name] = file.getvalue()
    return files


def parquet_files() -> Files:
    import polars

    values = table_rows()
    plain = polars.DataFrame(values, schema=["a", "b", "größe"])
    aside = plain.with_columns(id=polars.Series(["x", "y", "z", "w"]), g=polars.Series([1, 1, 2, 2]))
    files = {}
    for name, frame in {"doubles": plain, "aside": aside, "floats": plain.cast(polars.Float32)}.items():
        file = io.BytesIO()
        frame.write_parquet(file, compression="snappy" if name == "aside" else "uncompressed", statistics=False)
        files[name] = file.getvalue()
    return files


def json_bodies() -> Files:
    values = table_rows().tolist()
    records = [dict(zip(("a", "b", "größe"), row, strict=True)) for row in values]
    bodies = {"row": values[0], "rows": values, "record": records[0], "records": records}
    return {kind: json.dumps({kind: rows}).encode() for kind, rows in bodies.items()}


def arrow_bodies() -> Files:
    import pyarrow

    values = table_rows()
    files = {}
    for name, dtype in {"doubles": np.float64, "floats": np.float32, "integers": np.int16}.items():
        file = io.BytesIO()
        table = pyarrow.table({n: values[:, c].astype(dtype) for c, n in enumerate(("a", "b", "größe"))})
        with pyarrow.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
        files[name] = file.getvalue()
    return files


MAKERS: dict[str, Callable[[], Files]] = {
    "wald": own_files,
    "lightgbm": lightgbm_files,
    "xgboost-json": lambda: xgboost_files("json"),
    "xgboost-ubj": lambda: xgboost_files("ubj"),
    "catboost-json": catboost_files,
    "conllu": conll_files,
    "conllx": lambda: {name: raw for name, raw in conll_files().items() if name != "rare"},
    "letters": letter_files,
    "csv": csv_files,
    "svmlight": svmlight_files,
    "npy": npy_files,
    "parquet": parquet_files,
    "http-json": json_bodies,
    "http-arrow": arrow_bodies,
}


def main(names: list[str]) -> None:
    for name in names or MAKERS:
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        files = MAKERS[name]()
        for stem, raw in files.items():
            (folder / stem).write_bytes(raw)
        print(f"{name}: {len(files)} files, {sum(map(len, files.values()))} bytes")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
