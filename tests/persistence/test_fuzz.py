"""Ten thousand mutated files: each is refused, or loads as a model that predicts."""

import json
import warnings

import numpy as np
import pytest
from persistence.cases import made
from persistence.forge import put_together, sealed, taken_apart

import wald
from wald.early_exit.compiled.compiled_plan import ValidationRows
from wald.persistence import FileFormatError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SEEDS = (
    *("logistic", "logistic multiclass", "rbf", "one-vs-one", "sparse", "imputed rbf", "words", "groups", "constant"),
    *("boosting", "boosting of several"),
)
NASTY = (
    *(None, True, False, 0, 1, -1, 2, 3, 255, 2**31, 2**53, 2**63, 10**19, 0.5, -0.5, 1e-320, 1e308, -1e308),
    *("", "inf", "-inf", "nan", "float32", "float64", "full", "a" * 2000, "\ud800", "\0", [], {}, [[]], [0], [1, 2]),
    *({"tuple": []}, {"floats": "coef"}, {"float": "inf"}, {"type": "Ladder", "fields": {}}, {"type": [], "fields": 1}),
)
NUMBERS = (0, 1, -1, 2, 7, 127, 2**31 - 1, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e-320, 1e300, -1e300, 0.5)


def leaves(fields):
    found = []
    for key, value in fields.items() if isinstance(fields, dict) else enumerate(fields):
        found.append((fields, key))
        if isinstance(value, dict | list):
            found += leaves(value)
    return found


def altered_header(fields, arrays, rng):
    for _ in range(rng.integers(1, 3)):
        places = leaves(fields)
        if not places:
            break
        owner, key = places[rng.integers(len(places))]
        if rng.random() < 0.1:
            del owner[key]
        elif rng.random() < 0.2:
            other, from_ = places[rng.integers(len(places))]
            owner[key] = json.loads(json.dumps(other[from_]))
        else:
            owner[key] = json.loads(json.dumps(NASTY[rng.integers(len(NASTY))]))


def altered_arrays(fields, arrays, rng):
    names = list(arrays)
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(len(names))]
        array = np.atleast_1d(arrays[name])
        way = rng.integers(7)
        if way < 3 and array.size and array.dtype.kind in "fiu":
            value = NUMBERS[rng.integers(len(NUMBERS))]
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                array.reshape(-1)[rng.integers(array.size)] = np.array(float(value)).astype(array.dtype)
        elif way == 3 and array.size:
            flat = array.reshape(-1).view(np.uint8)
            flat[rng.integers(flat.size)] ^= np.uint8(1 << rng.integers(8))
        elif way == 4:
            arrays[name] = array[: max(0, len(array) - rng.integers(3))]
        elif way == 5:
            arrays[name] = np.concatenate([array, array[:1]])
        else:
            other = arrays[names[rng.integers(len(names))]]
            arrays[name] = array[::-1].copy() if rng.random() < 0.5 else other


def mutated(raw, parts, rng):
    """A mutated file: bytes changed, removed or inserted, or a header or arrays changed in a well-formed file."""
    way = rng.choice(5, p=(0.25, 0.1, 0.1, 0.3, 0.25))
    if way < 3:
        bytes_ = bytearray(raw)
        if way == 0:
            for at in rng.integers(len(raw), size=rng.integers(1, 6)):
                bytes_[at] ^= 1 << rng.integers(8)
        elif way == 1:
            del bytes_[rng.integers(len(raw)) :]
        else:
            at = rng.integers(len(raw))
            bytes_[at : at + rng.integers(0, 64)] = rng.bytes(rng.integers(0, 64))
        return sealed(bytes(bytes_)) if rng.random() < 0.5 else bytes(bytes_)
    fields, arrays = json.loads(parts[0]), {name: array.copy() for name, array in parts[1].items()}
    (altered_header if way == 3 else altered_arrays)(fields, arrays, rng)
    return put_together(fields, arrays)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The file holds the terms")  # of trees
def test_ten_thousand_mutated_files(tmp_path):
    """No mutation crashes, hangs or takes much memory: the file is refused, or the model answers."""
    rng, path = np.random.default_rng(20), tmp_path / "model.wald"
    files = [small_file(name, path) for name in SEEDS]
    parts = [(json.dumps(fields), arrays) for fields, arrays in map(taken_apart, files)]
    X = {d: rng.normal(size=(8, d)) for d in range(1, 100)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if resource else 0
    outcomes = {"refused": 0, "loaded": 0}
    for i in range(10_000):
        path.unlink()  # file systems take their time to overwrite
        path.write_bytes(mutated(files[i % len(files)], parts[i % len(files)], rng))
        try:
            loaded = wald.load(path)
        except FileFormatError:
            outcomes["refused"] += 1
        except ValueError as error:
            if "wald.load(path, estimator=...)" not in str(error):  # of risk=0, and of categories without codes
                raise
            outcomes["refused"] += 1
        else:
            outcomes["loaded"] += 1
            answer(loaded, X[loaded.n_features_in_])
    assert outcomes["loaded"] > 300, outcomes  # the deep checks were reached, and not all mutations matter
    assert outcomes["refused"] > 6000, outcomes
    if resource:
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 64 << 10  # KiB; the files have some 20


def small_file(name, path):
    """A file with few rows of stage scores, so that most mutations change other parts."""
    fast, X = made(name)
    fast = fast.recertify(X)
    compiled = fast.compiled_plan_
    compiled.validation = ValidationRows(compiled.validation.scores.take(np.arange(4)))
    wald.save(fast, path)
    return path.read_bytes()


def answer(loaded, X):
    with np.errstate(all="ignore"):
        labels, cost = loaded.predict(X, return_cost=True, check_input=False)
        assert np.isin(labels, loaded.classes_).all()
        assert loaded.predict_one(X[0]) in loaded.classes_
    if loaded.plan_.early.race is None:
        assert np.isin(cost, loaded.plan_.stage_costs).all()
    else:  # trees of classes that are out of the race are not evaluated
        assert ((cost >= 0) & (cost <= loaded.plan_.full_cost)).all()
