"""Files with false content: each is refused with a FileFormatError, or loads as a model that predicts."""

import numpy as np
import pytest
from persistence.cases import made
from persistence.forge import put_together, taken_apart
from persistence.hostile import file_of, refused

import wald
from wald.datasets import make_trees
from wald.outputs import Output
from wald.persistence import to_bytes
from wald.structured import DependencyParser


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
    ("logistic", "model.family", "forest", "family should be one of .*linear, .*kernel"),
    ("logistic", "model.dtype", "object", "dtype should be one of"),
    ("logistic", "model.tie_margin", -1.0, "tie_margin should be a number of at least 0"),
    ("logistic", "model.tie_margin", "nan", "tie_margin should be a number"),
    ("logistic", "model.n_columns", 3, "n_columns fits no coefficients"),
    ("logistic", "model.output.kind", "votes", "'votes' cannot serve 2 classes"),
    ("logistic", "model.output.n_classes", 3, "'sign' cannot serve 3 classes"),
    ("logistic", "model.output.type", "Fieldless", "model.output.type should be one of .*Labels"),
    ("logistic", "model.output.threshold", True, "threshold should be a number"),
    ("logistic", "model.terms.depth", 0, "depth should be a whole number from 1"),
    ("logistic", "model.terms.fill", True, "array 'model.terms.fill' is missing"),
    ("logistic", "model.labels", "object", "speaks of texts"),
    ("logistic multiclass", "model.output.n_classes", 5, "array 'model.terms.coef' should have the shape"),
    ("one-vs-one", "model.output.n_classes", 10**15, "has more than 10000 answers"),
    ("rbf", "model.terms.gamma", -0.1, "gamma should be a number of at least 0"),
    ("rbf", "model.terms.gamma", "inf", "gamma should be a number"),
    ("rbf", "model.terms.gamma", 1e300, "do not fit single precision"),
    ("rbf", "model.terms.degree", 1001, "degree should be a whole number"),
    ("rbf", "model.terms.n_features", 10**12, "n_features should be a whole number"),
    ("rbf", "model.terms.columns", True, "columns should be an object, and is True"),
    ("rbf", "plan.precision", "float64", "'stage_scores.margins' should be float64"),
    ("logistic", "plan.precision", "float32", "linear model does not compute in float32"),
    ("rbf", "plan.q", -1, "q should be a number of at least 0"),
    ("rbf", "plan.q", 1.5, "does not go with a certificate of status 'certified'"),
    ("rbf", "plan.q", "inf", "does not go with a certificate"),
    ("rbf", "plan.evaluate_all", True, "does not go with a certificate"),
    ("rbf", "plan.cost_model.block", 10**9, "block is out of range"),
    ("rbf", "plan.cost_model.block", 1.5, "cost_model.block should be a whole number, and is 1.5"),
    ("rbf", "plan.cost_model.block", 0, "CostModel.block must be a whole number of at least 1"),
    ("logistic", "plan.cost_model.rows_per_line", 10**9, "rows_per_line is out of range"),
    ("logistic", "plan.cost_model.rows_per_line", 1.5, "rows_per_line should be a whole number"),
    ("logistic", "plan.cost_model.rows_per_line", 0, "CostModel.rows_per_line must be a whole number"),
    ("rbf", "plan.cost_model.unit", -1, "CostModel.unit must be finite"),
    ("rbf", "plan.cost_model.type", "Ladder", "type should be one of CostModel, PassTimes"),
    ("rbf", "plan.cost_model.type", "os.system", "type should be one of"),
    ("rbf", "plan.cost_model", [[]], "cost_model should be a CostModel or a PassTimes, and is a list"),
    ("rbf", "plan.cost_model", {"float": "inf"}, "has no 'type'"),
    ("rbf", "by_proof", True, "exits by proof do not go with"),
    ("rbf", "certificate.q", 0.01, "does not go with a certificate"),
    ("rbf", "certificate.risk", 0.001, "does not follow from its own counts"),
    ("rbf", "certificate.risk", -1, "risk out of range"),
    ("rbf", "certificate.confidence", 7, "confidence out of range"),
    ("rbf", "certificate.status", "lossless", "does not follow from its own counts"),
    ("rbf", "certificate.status", "perfect", "certificate.status should be one of certified, "),
    ("rbf", "certificate.strata", [1], "certificate.strata.0 should be a Stratum, and is 1"),
    ("rbf", "certificate.strata", [], "does not follow from its own counts"),
    ("rbf", "certificate.grouped", 0, "certificate.grouped should be true or false, and is 0"),
    ("rbf", "parameters.risk", 3, "risk must be None or a number"),
    ("rbf", "parameters.n_jobs", 0, "n_jobs must be None or a non-zero integer"),
    ("rbf", "parameters.n_jobs", 1.5, "n_jobs should be a whole number or null"),
    ("rbf", "parameters.planner.rule", "stairs", "rule must be 'ladder'"),
    ("rbf", "parameters.planner.order", None, "order should be a text"),
    ("rbf", "parameters.feature_costs", {"a": 1}, "feature_costs should be an array or a list of pairs or null"),
    ("rbf", "parameters.feature_groups", [["a", [1.5]]], "should be a whole number or a text, and is 1.5"),
    ("constant", "parameters.planner.rule.delta", 2.0, "delta"),
    ("constant", "parameters.planner.rule.delta", "0.1", "rule.delta should be a number, and is '0.1'"),
    ("constant", "parameters.planner.rule", {"type": "ConstantBoundary", "beta": 1}, "rule has no 'kind'"),
    ("constant", "parameters.planner.rule.type", "Walk", "type should be one of"),
    ("budget", "parameters.planner.rule.k", "inf", "must be finite and positive"),
]


@pytest.mark.parametrize(("name", "where", "value", "message"), FIELDS)
def test_fields(name, where, value, message, path):
    fields, arrays = taken_apart(file_of(name, path))
    set_in(fields, where, value)
    refused(path, put_together(fields, arrays), message)


def test_a_proof_needs_thresholds_that_nothing_moves(path):
    """A lossless certificate for a plan of another rule is refused."""
    fields, arrays = taken_apart(file_of("rbf", path))
    proof = {"status": "lossless", "risk": 0.0, "confidence": 1.0, "q": 1.0, "strata": []}
    fields["certificate"] |= proof
    fields["plan"]["q"] = 1.0
    for by_proof, risk, message in ((True, 0, "thresholds that q moves"), (False, 0.05, "a rule that is not lossless")):
        fields["by_proof"], fields["parameters"]["risk"] = by_proof, risk
        refused(path, put_together(fields, arrays), message)


CLASS_RISKS = [
    ("parameters.risk", [[0]], "risk should be a number or null or a list of pairs"),
    ("parameters.risk", [["all", 0.05], [0, 2.0]], "must be None or a number at least 0 and below 1"),
    ("parameters.risk", [["all", 0.05], [0, -1]], "number"),
    ("parameters.risk", [["all", 0.05], [9, 0.1]], "none of the classes"),
    ("parameters.risk", [[[], 0.1]], "risk"),
    ("parameters.risk", [[0, 0.1]], "says nothing of the rows of class"),
    ("parameters.risk", [], "names no stratum"),
    ("certificate.about", "each", "does not follow from its own counts"),
    ("certificate.about", "some", "certificate.about should be one of"),
]


@pytest.mark.parametrize(("where", "value", "message"), CLASS_RISKS)
def test_risks_of_classes(where, value, message, path):
    fields, arrays = taken_apart(file_of("classes", path))
    set_in(fields, where, value)
    refused(path, put_together(fields, arrays), message)


def test_risks_of_strata_are_checked(path):
    fields, arrays = taken_apart(file_of("classes", path))
    stratum = fields["certificate"]["strata"][1]
    for risk, message in (
        (0.001, "does not follow"),
        (1.5, "risks of classes out of range"),
        (None, "does not follow"),
    ):
        stratum["risk"] = risk
        refused(path, put_together(fields, arrays), message)


class Fieldless(Output):
    """An output that no file can hold, and that cannot be made."""


@pytest.mark.parametrize(
    ("stratum", "message"),
    [
        ({"n_rows": 100, "n_disagreements": 100, "p_value": 0.0}, "does not follow from its own counts"),
        ({"p_value": -1.0}, "does not follow from its own counts"),
        ({"p_value": 0.001}, "does not follow from its own counts"),
        ({"n_disagreements": 0.99}, "losses between 0 and 1, and a Labels has none"),
        ({"n_disagreements": 0.99, "p_value": 0.04}, "losses between 0 and 1, and a Labels has none"),
    ],
)
def test_a_p_value_does_not_stand_for_counts(stratum, message, path):
    fields, arrays = taken_apart(file_of("rbf", path))
    fields["certificate"]["strata"][0] |= stratum
    refused(path, put_together(fields, arrays), message)


# ---- the arrays ------------------------------------------------------------------------------------------------------


def entry(array, at, value):
    changed = array.copy()
    changed.reshape(-1)[at] = value
    return changed


ARRAYS = [
    ("logistic", "model.terms.coef", lambda a: entry(a, 3, np.nan), "'model.terms.coef' holds NaN or infinity"),
    (
        "logistic",
        "model.terms.coef",
        lambda a: a.astype(np.float32),
        "'model.terms.coef' should be float64, and is float32",
    ),
    ("logistic", "model.terms.coef", lambda a: a[:, :0], "'model.terms.coef' has no columns"),
    ("logistic", "model.terms.coef", lambda a: a[:, 1:], "fits no coefficients|should have the shape"),
    ("logistic", "model.terms.coef_bound", lambda a: -a, "'model.terms.coef_bound' holds numbers below 0"),
    (
        "logistic",
        "model.terms.intercept",
        lambda a: entry(a, 0, np.inf),
        "'model.terms.intercept' holds NaN or infinity",
    ),
    ("logistic", "model.classes", lambda a: a[[0] * len(a)], "'model.classes' holds a label twice"),
    ("logistic", "model.classes", lambda a: a[:1], "'model.classes' should have the shape"),
    ("floats", "model.classes", lambda a: entry(a, 0, -np.inf), "'model.classes' holds NaN or infinity"),
    ("words", "model.classes", lambda a: a.view(np.uint32).__ior__(0x110000).view(a.dtype), "no character"),
    ("words", "model.classes", lambda a: entry(a.view(np.uint32), 0, 0xD800).view(a.dtype), "no character"),
    ("frame", "schema.names", lambda a: a[1:], "'schema.names' should have the shape"),
    ("frame", "schema.names", lambda a: np.arange(14), "'schema.names' should be"),
    ("rbf", "model.terms.support_vectors", lambda a: entry(a, -1, np.nan), "'model.terms.support_vectors' holds NaN"),
    ("rbf", "model.terms.support_vectors", lambda a: entry(a, -1, 1e300), "do not fit single precision"),
    ("rbf", "plan.order", lambda a: entry(a, 0, a[1]), "'plan.order' names something twice"),
    ("rbf", "plan.order", lambda a: entry(a, 0, -1), "'plan.order' holds numbers outside"),
    ("rbf", "plan.terms", lambda a: entry(a, 0, a[1]), "'plan.terms' names something twice"),
    ("rbf", "plan.terms", lambda a: entry(a, 0, 10**6), "'plan.terms' holds numbers outside"),
    ("rbf", "plan.terms", lambda a: a.astype(np.uint64), "'plan.terms' should be int64"),
    ("rbf", "plan.early.terms", lambda a: a[::-1], "'plan.early.terms' falls"),
    ("rbf", "plan.early.terms", lambda a: a + 10**6, "'plan.early.terms' holds numbers outside"),
    ("rbf", "plan.stages", lambda a: a[::-1], "'plan.stages'"),
    ("rbf", "plan.stages", lambda a: entry(a, -1, 2**62), "'plan.stages' holds numbers outside"),
    ("rbf", "plan.stage_costs", lambda a: a[::-1], "'plan.stage_costs' falls"),
    ("rbf", "plan.stage_costs", lambda a: entry(a, -1, 0.5), "'plan.stage_costs' falls at its end"),
    ("rbf", "plan.reached", lambda a: a[::-1], "'plan.reached' does not fall"),
    ("rbf", "plan.reached", lambda a: a + 1, "'plan.reached' does not fall"),
    ("rbf", "plan.early.weights", lambda a: a[1:], "'plan.early.weights' should have the shape"),
    ("rbf", "plan.early.weights", lambda a: entry(a, 0, np.inf), "'plan.early.weights' holds NaN or infinity"),
    ("rbf", "plan.early.bias", lambda a: a[:, [0, 0]], "'plan.early.bias' should have the shape"),
    ("rbf", "plan.boundary.low_scale", lambda a: -a, "scales of a boundary must be finite and not negative"),
    ("rbf", "plan.boundary.high_center", lambda a: a * np.nan, "'plan.boundary.high_center' holds NaN"),
    ("rbf", "stage_scores.full", lambda a: a + 2, "'stage_scores.full' holds numbers outside"),
    ("rbf", "stage_scores.margins", lambda a: a[1:], "'stage_scores.margins' should have the shape"),
    ("rbf", "plan.surrogates.vectors", lambda a: np.zeros((3, 2)), "'plan.surrogates.vectors' does not fit"),
    (
        "rbf with landmarks",
        "plan.surrogates.vectors",
        lambda a: a[:1],
        "'plan.terms' holds numbers outside|'plan.order' holds numbers outside",
    ),
    (
        "scaled rbf",
        "model.terms.columns.scale",
        lambda a: entry(a, 0, np.inf),
        "'model.terms.columns.scale' holds NaN or infinity",
    ),
    (
        "scaled rbf",
        "model.terms.columns.magnitude",
        lambda a: -a - 1,
        "'model.terms.columns.magnitude' holds numbers below",
    ),
    (
        "sparse",
        "model.terms.support_vectors.indices",
        lambda a: a + 60,
        "'model.terms.support_vectors.indices' holds numbers outside",
    ),
    (
        "sparse",
        "model.terms.support_vectors.indices",
        lambda a: a[::-1],
        "'model.terms.support_vectors.indices' does not ascend",
    ),
    (
        "sparse",
        "model.terms.support_vectors.indptr",
        lambda a: entry(a, 0, 1),
        "'model.terms.support_vectors.indptr' does not rise",
    ),
    (
        "sparse",
        "model.terms.support_vectors.indptr",
        lambda a: entry(a, 1, a[-1]),
        "'model.terms.support_vectors.indptr' does not rise",
    ),
    (
        "sparse",
        "model.terms.support_vectors.indptr",
        lambda a: a * 2,
        "'model.terms.support_vectors.indptr' holds numbers outside",
    ),
    (
        "sparse",
        "model.terms.support_vectors.data",
        lambda a: a * np.nan,
        "'model.terms.support_vectors.data' holds NaN",
    ),
    ("own order", "parameters.planner.order", lambda a: a * 0.5, "'parameters.planner.order' should be"),
    ("feature costs", "parameters.feature_costs", lambda a: a * np.nan, "holds NaN"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "array", "change", "message"), ARRAYS)
def test_arrays(name, array, change, message, path):
    fields, arrays = taken_apart(file_of(name, path))
    arrays[array] = np.ascontiguousarray(change(arrays[array]))
    refused(path, put_together(fields, arrays), message)


def test_numbers_near_the_end_of_float64_raise_no_warning(path):
    fields, arrays = taken_apart(file_of("scaled rbf", path))
    arrays["model.terms.columns.magnitude"][:] = 1e300
    arrays["plan.stage_costs"][-1] = 1.7e308
    path.write_bytes(put_together(fields, arrays))
    assert wald.load(path).plan_.full_cost == 1.7e308


def test_a_forged_model_with_its_estimator_is_refused(path):
    fast, _ = made("rbf")
    fields, arrays = taken_apart(file_of("rbf", path))
    arrays["model.terms.support_vectors"][0, 0] += 1
    path.write_bytes(put_together(fields, arrays))
    wald.load(path)  # a model like any other
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(path, estimator=fast.estimator_)


def test_a_sparse_machine_of_endless_features_is_refused_before_room_is_made(path):
    fields, arrays = taken_apart(file_of("sparse and wide", path))
    for n in (2**25, 2**31 - 1):
        fields["model"]["terms"]["n_features"] = fields["model"]["n_columns"] = n
        refused(path, put_together(fields, arrays), "n_features should be a whole number from 1 to 33554431")


@pytest.mark.filterwarnings("ignore:The file holds the terms")
@pytest.mark.parametrize("n", [2**31 - 1, 2**31, 2**53])
def test_trees_of_endless_features_are_refused_before_room_is_made(n, path):
    fields, arrays = taken_apart(file_of("boosting", path))
    fields["model"]["terms"]["trees"]["n_features"] = fields["model"]["n_columns"] = n
    refused(path, put_together(fields, arrays), "would bring the memory that it takes to")


def test_a_parser_that_should_prune_and_cannot(path):
    parser = DependencyParser(table_bits=8, max_iter=1, relations=False, feature_groups="tags", random_state=0)
    fields, arrays = taken_apart(to_bytes(parser.fit(make_trees(20, random_state=0))))
    fields["parameters"]["arc_margin"] = 1.0
    refused(path, put_together(fields, arrays), "have an arc_margin, and the parser has no pruner")
