"""Files with false content: each is refused with a FileFormatError, or loads as a model that predicts."""

import json
import re
import struct
import time
import tracemalloc

import numpy as np
import pytest
from persistence.cases import made
from persistence.forge import PREFIX, put_together, sealed, taken_apart, without_estimator

import wald
from wald.datasets import make_trees
from wald.persistence import FileFormatError, to_bytes
from wald.structured import DependencyParser


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.wald"


def file_of(name, path):
    """A file without the estimator, which test_rebuilding.py covers."""
    wald.save(made(name)[0], path)
    without_estimator(path)
    return path.read_bytes()


def refused(path, raw, message):
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=message) as error:
        wald.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert isinstance(error.value, ValueError)


# ---- the outer form --------------------------------------------------------------------------------------------------


def test_every_truncation_is_refused(path):
    raw = file_of("logistic", path)
    for end in [*range(64), *range(64, len(raw), 97), len(raw) - 1]:
        refused(path, raw[:end], "was cut off" if end >= 32 else "no file that wald.save wrote")


def test_every_altered_byte_is_refused(path):
    raw = file_of("logistic", path)
    for at in [*range(40), *range(40, len(raw), 41)]:
        altered = bytearray(raw)
        altered[at] ^= 0x10
        refused(path, bytes(altered), "checksum|format|wald|bytes|header|array|file")
    refused(path, raw + b"\0", "has something appended: it should have [0-9]+ bytes, and has [0-9]+")
    refused(path, sealed(raw + bytes(64)), "arrays do not fill the file")


def test_what_is_no_file_of_walds(path, tmp_path):
    for raw in (b"", b"\x80\x04\x95", b"PK\x03\x04" + bytes(100), b"wald" * 100):
        refused(path, raw, "no file that wald.save wrote")
    with pytest.raises(FileFormatError, match="no regular file"):
        wald.load(tmp_path)


def test_a_later_format_says_what_is_needed(path):
    raw = file_of("logistic", path)
    fields, arrays = taken_apart(raw)
    fields["library"] = "7.3.1"
    later = bytearray(put_together(fields, arrays))
    later[8:12] = struct.pack("<I", 2)
    refused(path, sealed(bytes(later)), r"version 2 was written by wald 7\.3\.1.*Install wald 7\.3\.1 or later")
    later[32:60] = bytes(28)
    refused(path, sealed(bytes(later)), "written by wald a newer version")
    later[8:12] = bytes(4)
    refused(path, sealed(bytes(later)), "format version 0")


# ---- the header ------------------------------------------------------------------------------------------------------

HEADERS = {
    "no JSON": ("{", "no JSON"),
    "no object": ("[]", "no JSON object"),
    "empty": ("", "no JSON"),
    "no UTF-8": ("\udcff", "no JSON"),
    "deep": ("[" * 100_000, "nests deeper"),
    "deep objects": ('{"a":' * 50_000, "nests deeper"),
    "deep behind a text": ('{"a[": "\\"[", "b": ' + "[" * 99, "nests deeper"),
    "many parts": ("[" + "0," * 400_000, "more than"),
    "endless text": ('{"' + '\\"' * 400_000, "no JSON"),
    "large": ('{"a": "' + "a" * (1 << 20) + '"}', "bytes; at most"),
    "a key twice": ('{"library": "1", "library": "2"}', "a key twice"),
    "a long number": ('{"library": ' + "9" * 5000 + "}", "a number of 5000 digits"),
    "NaN": ('{"library": NaN}', "not finite"),
    "infinity": ('{"library": -Infinity}', "not finite"),
    "beyond float64": ('{"library": 1e999}', "not finite"),
    "no arrays": ('{"library": "1"}', "arrays should be a list"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name, path):
    text, message = HEADERS[name]
    raw = text.encode("utf-8", "surrogateescape")
    start = time.perf_counter()
    refused(path, sealed(PREFIX.pack(b"\x93WALD\r\n\x1a", 1, len(raw), 0, 0) + raw), message)
    assert time.perf_counter() - start < 2


def test_the_file_says_in_words_what_it_must(path):
    refused(path, put_together({}, {}), "header has no 'library'")
    fields, arrays = taken_apart(file_of("logistic", path))
    refused(path, put_together({**fields, "more": 1}, arrays), "header has an unknown 'more'")
    refused(path, put_together(fields, {**arrays, "more": np.zeros(1)}), "unknown array 'more'")
    assert len(fields["fingerprint"]) == 64


def set_in(fields, where, value):
    *owners, last = where.split(".")
    for owner in owners:
        fields = fields[owner]
    assert last in fields
    fields[last] = value


FIELDS = [
    ("logistic", "library", 1, "library should be a text"),
    ("logistic", "library", "\ud800", "surrogate"),
    ("logistic", "fingerprint", "f" * 1001, "at most 1000 characters"),
    ("logistic", "by_proof", 1, "by_proof should be true or false"),
    ("logistic", "model.family", "forest", "family should be one of trees, .*linear, kernel"),
    ("logistic", "model.dtype", "object", "dtype should be one of"),
    ("logistic", "model.tie_margin", -1.0, "tie_margin should be a number of at least 0"),
    ("logistic", "model.tie_margin", "nan", "tie_margin should be a number"),
    ("logistic", "model.n_columns", 3, "n_columns fits no coefficients"),
    ("logistic", "model.output.kind", "votes", "n_classes should be a whole number from 3"),
    ("logistic", "model.output.n_classes", 3, "n_classes should be a whole number from 2 to 2"),
    ("logistic", "model.output.threshold", True, "threshold should be a number"),
    ("logistic", "model.terms.depth", 0, "depth should be a whole number from 1"),
    ("logistic", "model.terms.fill", True, "array 'fill' is missing"),
    ("logistic", "model.labels", "object", "speaks of texts"),
    ("logistic multiclass", "model.output.n_classes", 5, "array 'coef' should have the shape"),
    ("one-vs-one", "model.output.n_classes", 10**15, "n_classes should be a whole number from 3 to 10000"),
    ("rbf", "model.terms.gamma", -0.1, "gamma should be a number of at least 0"),
    ("rbf", "model.terms.gamma", "inf", "gamma should be a number"),
    ("rbf", "model.terms.gamma", 1e300, "do not fit single precision"),
    ("rbf", "model.terms.degree", 1001, "degree should be a whole number"),
    ("rbf", "model.terms.n_features", 10**12, "n_features should be a whole number"),
    ("rbf", "model.terms.sparse", True, "array 'support_vectors.data' is missing"),
    ("rbf", "model.terms.columns", True, "array 'scale' is missing"),
    ("rbf", "plan.precision", "float64", "'stage_scores.margins' should be float64"),
    ("logistic", "plan.precision", "float32", "linear model does not compute in float32"),
    ("rbf", "plan.q", -1, "q should be a number of at least 0"),
    ("rbf", "plan.q", 1.5, "does not go with a certificate of status 'certified'"),
    ("rbf", "plan.q", "inf", "does not go with a certificate"),
    ("rbf", "plan.evaluate_all", True, "does not go with a certificate"),
    ("rbf", "plan.cost_model.fields.block", 10**9, "block is out of range"),
    ("rbf", "plan.cost_model.fields.block", 1.5, "cost_model.block has a value of the wrong kind"),
    ("rbf", "plan.cost_model.fields.block", 0, "CostModel.block must be a whole number of at least 1"),
    ("logistic", "plan.cost_model.fields.rows_per_line", 10**9, "rows_per_line is out of range"),
    ("logistic", "plan.cost_model.fields.rows_per_line", 1.5, "rows_per_line has a value of the wrong kind"),
    ("logistic", "plan.cost_model.fields.rows_per_line", 0, "CostModel.rows_per_line must be a whole number"),
    ("rbf", "plan.cost_model.fields.unit", -1, "CostModel.unit must be finite"),
    ("rbf", "plan.cost_model.type", "Ladder", "wrong kind"),
    ("rbf", "plan.cost_model.type", "os.system", "type should be one of"),
    ("rbf", "plan.cost_model", {"tuple": [{"tuple": []}]}, "wrong kind"),
    ("rbf", "plan.cost_model", {"float": "inf", "tuple": []}, "unknown"),
    ("rbf", "by_proof", True, "exits by proof do not go with"),
    ("rbf", "certificate.fields.q", 0.01, "does not go with a certificate"),
    ("rbf", "certificate.fields.risk", 0.001, "does not follow from its own counts"),
    ("rbf", "certificate.fields.risk", -1, "risk out of range"),
    ("rbf", "certificate.fields.confidence", 7, "confidence out of range"),
    ("rbf", "certificate.fields.status", "lossless", "does not follow from its own counts"),
    ("rbf", "certificate.fields.status", "perfect", "certificate.status has a value of the wrong kind"),
    ("rbf", "certificate.fields.strata", {"tuple": [1]}, "certificate.strata has a value of the wrong kind"),
    ("rbf", "certificate.fields.strata", {"tuple": []}, "does not follow from its own counts"),
    ("rbf", "certificate.fields.grouped", 0, "certificate.grouped has a value of the wrong kind"),
    ("rbf", "parameters.risk", 3, "risk must be None or a number"),
    ("rbf", "parameters.n_jobs", 0, "n_jobs must be None or a non-zero integer"),
    ("rbf", "parameters.n_jobs", 1.5, "n_jobs has a value of the wrong kind"),
    ("rbf", "parameters.rule", "stairs", "rule must be 'ladder'"),
    ("rbf", "parameters.order", None, "array 'parameters.order' is missing"),
    ("rbf", "parameters.feature_costs", {"a": 1}, "feature_costs should be a list"),
    ("rbf", "parameters.feature_groups", [["a", [1.5]]], "should be a list of columns"),
    ("constant", "parameters.rule.fields.delta", 2.0, "delta"),
    ("constant", "parameters.rule.fields.delta", "0.1", "rule.delta has a value of the wrong kind"),
    ("constant", "parameters.rule.fields", {"beta": 1}, "rule has no 'kind'"),
    ("constant", "parameters.rule.type", "Walk", "type should be one of"),
    ("budget", "parameters.rule.fields.k", {"float": "inf"}, "must be finite and positive"),
]


@pytest.mark.parametrize(("name", "where", "value", "message"), FIELDS)
def test_fields(name, where, value, message, path):
    fields, arrays = taken_apart(file_of(name, path))
    set_in(fields, where, value)
    refused(path, put_together(fields, arrays), message)


def test_a_proof_needs_thresholds_that_nothing_moves(path):
    """A lossless certificate for a plan of another rule is refused."""
    fields, arrays = taken_apart(file_of("rbf", path))
    proof = {"status": "lossless", "risk": 0.0, "confidence": 1.0, "q": 1.0, "strata": {"tuple": []}}
    fields["certificate"]["fields"] |= proof
    fields["plan"]["q"] = 1.0
    for by_proof, risk, message in ((True, 0, "thresholds that q moves"), (False, 0.05, "a rule that is not lossless")):
        fields["by_proof"], fields["parameters"]["risk"] = by_proof, risk
        refused(path, put_together(fields, arrays), message)


CLASS_RISKS = [
    ("parameters.protect", [[0]], "a list of labels and the risk of each"),
    ("parameters.protect", [[0, 2.0]], "must be a number above 0 and below 1"),
    ("parameters.protect", [[0, -1]], "number"),
    ("parameters.protect", [[9, 0.1]], "none of the classes"),
    ("parameters.protect", [[[], 0.1]], "protect"),
    ("parameters.protect", [], "names no class"),
    ("certificate.fields.protect", "each", "does not follow from its own counts"),
    ("certificate.fields.protect", "some", "certificate.protect has a value of the wrong kind"),
]


@pytest.mark.parametrize(("where", "value", "message"), CLASS_RISKS)
def test_risks_of_classes(where, value, message, path):
    fields, arrays = taken_apart(file_of("classes", path))
    set_in(fields, where, value)
    refused(path, put_together(fields, arrays), message)


def test_risks_of_strata_are_checked(path):
    fields, arrays = taken_apart(file_of("classes", path))
    stratum = fields["certificate"]["fields"]["strata"]["tuple"][1]["fields"]
    for risk, message in (
        (0.001, "does not follow"),
        (1.5, "risks of classes out of range"),
        (None, "does not follow"),
    ):
        stratum["risk"] = risk
        refused(path, put_together(fields, arrays), message)


# ---- the arrays ------------------------------------------------------------------------------------------------------


def entry(array, at, value):
    changed = array.copy()
    changed.reshape(-1)[at] = value
    return changed


ARRAYS = [
    ("logistic", "coef", lambda a: entry(a, 3, np.nan), "'coef' holds NaN or infinity"),
    ("logistic", "coef", lambda a: a.astype(np.float32), "'coef' should be float64, and is float32"),
    ("logistic", "coef", lambda a: a[:, :0], "'coef' has no columns"),
    ("logistic", "coef", lambda a: a[:, 1:], "fits no coefficients|should have the shape"),
    ("logistic", "coef_bound", lambda a: -a, "'coef_bound' holds numbers below 0"),
    ("logistic", "intercept", lambda a: entry(a, 0, np.inf), "'intercept' holds NaN or infinity"),
    ("logistic", "classes", lambda a: a[[0] * len(a)], "'classes' holds a label twice"),
    ("logistic", "classes", lambda a: a[:1], "'classes' should have the shape"),
    ("floats", "classes", lambda a: entry(a, 0, -np.inf), "'classes' holds NaN or infinity"),
    ("words", "classes", lambda a: a.view(np.uint32).__ior__(0x110000).view(a.dtype), "no character"),
    ("words", "classes", lambda a: entry(a.view(np.uint32), 0, 0xD800).view(a.dtype), "no character"),
    ("frame", "schema.names", lambda a: a[1:], "'schema.names' should have the shape"),
    ("frame", "schema.names", lambda a: np.arange(14), "'schema.names' should be"),
    ("rbf", "support_vectors", lambda a: entry(a, -1, np.nan), "'support_vectors' holds NaN"),
    ("rbf", "support_vectors", lambda a: entry(a, -1, 1e300), "do not fit single precision"),
    ("rbf", "order", lambda a: entry(a, 0, a[1]), "'order' names something twice"),
    ("rbf", "order", lambda a: entry(a, 0, -1), "'order' holds numbers outside"),
    ("rbf", "terms", lambda a: entry(a, 0, a[1]), "'terms' names something twice"),
    ("rbf", "terms", lambda a: entry(a, 0, 10**6), "'terms' holds numbers outside"),
    ("rbf", "terms", lambda a: a.astype(np.uint64), "'terms' should be int64"),
    ("rbf", "stage_terms", lambda a: a[::-1], "'stage_terms' falls"),
    ("rbf", "stage_terms", lambda a: a + 10**6, "'stage_terms' holds numbers outside"),
    ("rbf", "stages", lambda a: a[::-1], "'stages'"),
    ("rbf", "stages", lambda a: entry(a, -1, 2**62), "'stages' holds numbers outside"),
    ("rbf", "stage_costs", lambda a: a[::-1], "'stage_costs' falls"),
    ("rbf", "stage_costs", lambda a: entry(a, -1, 0.5), "'stage_costs' falls at its end"),
    ("rbf", "reached", lambda a: a[::-1], "'reached' does not fall"),
    ("rbf", "reached", lambda a: a + 1, "'reached' does not fall"),
    ("rbf", "readout.weights", lambda a: a[1:], "'readout.weights' should have the shape"),
    ("rbf", "readout.weights", lambda a: entry(a, 0, np.inf), "'readout.weights' holds NaN or infinity"),
    ("rbf", "readout.bias", lambda a: a[:, [0, 0]], "'readout.bias' should have the shape"),
    ("rbf", "boundary.low_scale", lambda a: -a, "scales of a boundary must be finite and not negative"),
    ("rbf", "boundary.high_center", lambda a: a * np.nan, "'boundary.high_center' holds NaN"),
    ("rbf", "stage_scores.full", lambda a: a + 2, "'stage_scores.full' holds numbers outside"),
    ("rbf", "stage_scores.margins", lambda a: a[1:], "'stage_scores.margins' should have the shape"),
    ("rbf", "surrogates", lambda a: np.zeros((3, 2)), "'surrogates' does not fit"),
    (
        "rbf with landmarks",
        "surrogates",
        lambda a: a[:1],
        "'terms' holds numbers outside|'order' holds numbers outside",
    ),
    ("scaled rbf", "scale", lambda a: entry(a, 0, np.inf), "'scale' holds NaN or infinity"),
    ("scaled rbf", "magnitude", lambda a: -a - 1, "'magnitude' holds numbers below"),
    ("sparse", "support_vectors.indices", lambda a: a + 60, "'support_vectors.indices' holds numbers outside"),
    ("sparse", "support_vectors.indices", lambda a: a[::-1], "'support_vectors.indices' does not ascend"),
    ("sparse", "support_vectors.indptr", lambda a: entry(a, 0, 1), "'support_vectors.indptr' does not rise"),
    ("sparse", "support_vectors.indptr", lambda a: entry(a, 1, a[-1]), "'support_vectors.indptr' does not rise"),
    ("sparse", "support_vectors.indptr", lambda a: a * 2, "'support_vectors.indptr' holds numbers outside"),
    ("sparse", "support_vectors.data", lambda a: a * np.nan, "'support_vectors.data' holds NaN"),
    ("own order", "parameters.order", lambda a: a * 0.5, "'parameters.order' should be"),
    ("feature costs", "parameters.feature_costs", lambda a: a * np.nan, "holds NaN"),
]


@pytest.mark.parametrize(("name", "array", "change", "message"), ARRAYS)
def test_arrays(name, array, change, message, path):
    fields, arrays = taken_apart(file_of(name, path))
    arrays[array] = np.ascontiguousarray(change(arrays[array]))
    refused(path, put_together(fields, arrays), message)


def test_numbers_near_the_end_of_float64_raise_no_warning(path):
    fields, arrays = taken_apart(file_of("scaled rbf", path))
    arrays["magnitude"][:] = 1e300
    arrays["stage_costs"][-1] = 1.7e308
    path.write_bytes(put_together(fields, arrays))
    assert wald.load(path).plan_.full_cost == 1.7e308


@pytest.mark.parametrize(
    "shape", [[2**40], [2**48, 2**48], [2**63], [2**70], [-1], [1.0], [True], "ab", [1, 1, 1], [], [[1]], None]
)
def test_shapes_are_checked_before_anything_is_allocated(shape, path):
    fields, arrays = taken_apart(file_of("logistic", path))
    raw = put_together(fields, arrays)
    table = json.dumps(json.loads(raw[32 : 32 + PREFIX.unpack(raw[:32])[2]])["arrays"])
    for name in ("coef", "stage_scores.margins"):
        lie = re.sub(rf'(\["{name}", "<f8", )\[[0-9, ]*\]', lambda m: m[1] + json.dumps(shape), table)
        assert lie != table
        forged = forged_table(fields, raw, lie)
        tracemalloc.start()
        try:
            refused(path, forged, "header.arrays|arrays do not fill|a number of 22 digits")
            assert tracemalloc.get_traced_memory()[1] < 3 * len(forged) + (1 << 20)
        finally:
            tracemalloc.stop()


def forged_table(fields, raw, table):
    length = PREFIX.unpack(raw[:32])[2]
    body = raw[-(-(32 + length) // 64) * 64 :]
    header = json.dumps({**fields, "arrays": json.loads(table)}).encode()
    head = header + bytes(-(32 + len(header)) % 64)
    return sealed(PREFIX.pack(b"\x93WALD\r\n\x1a", 1, len(header), 0, 0) + head + body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: [[n, d, s, o + 64] for n, d, s, o in t], "should begin at 0"),
        (lambda t: [[n, d, s, 0] for n, d, s, o in t], "should begin at"),
        (lambda t: [[n, d, s, -o] for n, d, s, o in t], "should begin at"),
        (lambda t: [[n, d, s, float(o)] for n, d, s, o in t], "should begin at"),
        (lambda t: [["coef", d, s, o] for n, d, s, o in t], "names 'coef' twice"),
        (lambda t: [[n, "|O", s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, ">f8", s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, [["a", "<f8"]], s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, "<U99999", s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, "<f8", s] for n, d, s, o in t], r"every entry is \[name, dtype, shape, offset\]"),
        (lambda t: [[1, d, s, o] for n, d, s, o in t], "name should be a text"),
        (lambda t: t[:-1], "do not fill the file"),
        (lambda t: t * 30, "entries; at most"),
        (lambda t: "coef", "arrays should be a list"),
    ],
)
def test_the_table_of_arrays(change, message, path):
    fields, arrays = taken_apart(file_of("logistic", path))
    raw = put_together(fields, arrays)
    table = json.loads(raw[32 : 32 + PREFIX.unpack(raw[:32])[2]])["arrays"]
    refused(path, forged_table(fields, raw, json.dumps(change(table))), message)


def test_what_lies_between_arrays_is_zero(path):
    fields, arrays = taken_apart(file_of("logistic", path))
    raw = bytearray(put_together(fields, arrays))
    at = 32 + PREFIX.unpack(raw[:32])[2]
    assert at % 64  # or nothing lies between
    raw[at] = 1
    refused(path, sealed(bytes(raw)), "between two arrays are not zero")


def test_a_forged_model_with_its_estimator_is_refused(path):
    fast, _ = made("rbf")
    fields, arrays = taken_apart(file_of("rbf", path))
    arrays["support_vectors"][0, 0] += 1
    path.write_bytes(put_together(fields, arrays))
    wald.load(path)  # a model like any other
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(path, estimator=fast.estimator_)


def test_a_sparse_machine_of_endless_features_is_refused_before_room_is_made(path):
    fields, arrays = taken_apart(file_of("sparse and wide", path))
    for n in (2**25, 2**31 - 1):
        fields["model"]["terms"]["n_features"] = fields["model"]["n_columns"] = n
        refused(path, put_together(fields, arrays), "n_features should be a whole number from 1 to 33554431")


def test_a_parser_that_should_prune_and_cannot(path):
    parser = DependencyParser(table_bits=8, n_epochs=1, relations=False, features="tags", random_state=0)
    fields, arrays = taken_apart(to_bytes(parser.fit(make_trees(20, random_state=0))))
    fields["parameters"]["arc_margin"] = 1.0
    refused(path, put_together(fields, arrays), "have an arc_margin, and the parser has no pruner")
