"""One table of the numbers that a measurement may change, each with the settings that show its effect.

``python -m bench.tunables`` prints it with the values of today. To retune a number, change it, run these settings
before and after (``make bench ARGS="..."``), and keep what is better in all of them. `FIXED` has the other numbers of
planning and of the engine in Python: limits, roundings and statistical levels, which no benchmark may change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "wald"
#: Folders whose numbers are listed.
FOLDERS = ("plan", "early_exit", "engine", "ranking", "sources", "steps")
#: Other files with numbers of planning.
FILES = ("models/documents.py", "models/tree_work.py", "models/landmarks.py", "models/members.py", "models/kernel.py")

SVM = "svm-binary svm-multiclass"
LINEAR = "linear-units frames"
TREES = "trees-wide trees-flights trees-classes"

#: File and constant: the settings that show the effect.
TUNABLES = {
    "plan/sums.py": {
        "MOST_SUMS": TREES,
        "ANCHOR_RATIO": TREES,
        "MIXED": TREES,
        "MIXTURE_RIDGE": TREES,
        "VALUE_ROWS": TREES,
        "VARIANCE_ROWS": TREES,
        "LARGEST_SQUARE": TREES,
        "LEAST_ROWS": TREES,
        "MOST_LEAVES": TREES,
        "TOLERANCE": TREES,
        "MOST_STEPS": TREES,
        "MOST_SPREAD": "values",
    },
    "plan/spread.py": {"LARGEST_SQUARE": "values", "RIDGE": "values", "LEAST_ROWS": "values"},
    "plan/qwyc.py": {"MAX_SEARCHED": LINEAR},
    "plan/prior.py": {"PRIOR_ROWS": "linear-units"},
    "plan/recipes.py": {
        "MAX_POOL": SVM,
        "SPARSE_POOL": SVM,
        "LEAST_POOL": SVM,
        "SMALL": SVM,
        "PLAIN_STAGES": f"{SVM} {LINEAR}",
        "SUMMED_STAGES": TREES,
        "WHOLE": f"{LINEAR} trees-wide",
    },
    "plan/passes.py": {"MOST_GROWTH": TREES},
    "plan/ladder.py": {
        "LATE_BOLDNESS": "frames",
        "RACE": "trees-classes",
        "FEWER_STAGES": TREES,
        "PASS_MARGIN": f"{TREES} never-slower",
    },
    "plan/timing.py": {"MARGIN": "never-slower"},
    "early_exit/fitting/costs.py": {"FEW": "never-slower pipelines", "TIMED_TEXTS": "texts", "TIMED_COLUMNS": "frames"},
    "early_exit/compiled/documents.py": {"LEAST_ROWS": "texts", "READ_WHOLE": "texts"},
    "early_exit/fitting/asked_rows.py": {"LEARN_SHARE": "any-model", "MOST_LEARNT": "any-model"},
    "early_exit/fitting/opaque_plan.py": {"STRENGTHS": "any-model"},
    "early_exit/fitting/call_budget.py": {"LEARN_PART": "any-model", "PLAN_PART": "any-model"},
    "early_exit/fitting/lazy_walk.py": dict.fromkeys(("LEAST_BLOCK", "EXPECTED_LOSSES", "GROWTH"), "any-model"),
    "early_exit/fitting/late_certificate.py": {"EXPECTED_PART": "any-model"},
    "early_exit/fitting/bought_parts.py": dict.fromkeys(
        ("LARGEST_SHARE", "LEAST_SHARE", "LEFT_OVER_RISK", "MIXED_TREES", "MOST_LEARNT"), "calls"
    ),
    "early_exit/fitting/bought_sets.py": {"CHEAP": "calls"},
    "early_exit/fitting/selection.py": {"LEFT_BY_PROOF": "values"},
    "early_exit/fitting/data_split.py": {"ORDER_SHARE": f"{SVM} {LINEAR} {TREES}"},
    "early_exit/fitting/racing.py": {
        "CLEAR": "never-slower",
        "UNTIMED": "never-slower",
        "ON_MODEL": "never-slower",
        "ON_ENGINE": "never-slower trees-wide",
        "ENGINE_SECONDS": "never-slower trees-wide",
    },
    "early_exit/fitting/planning.py": {
        "MOST_VALIDATION_ROWS": f"{SVM} {TREES}",
        "MOST_REDONE": "svm-binary",
        "PRECISION_ROWS": "svm-binary",
        "FEW_OUTPUTS": "svm-letters",
    },
    "early_exit/compiled/full_model.py": dict.fromkeys(
        ("FEW_ROWS", "ROWS_OF_PRODUCT", "LARGE_BYTES", "CACHED_BYTES"), "never-slower"
    ),
    "ranking/estimates.py": {"FLOOR": "ranking", "WIDTH": "ranking", "MOST_ROWS": "ranking"},
    "ranking/ladder.py": {"DECISION": "ranking", "FIRST": "ranking", "RATIO": "ranking"},
    "ranking/planning.py": dict.fromkeys(
        ("SAME_WORK", "BOLDNESS", "CANDIDATES", "CERTIFICATE_SHARE", "ORDER_SHARE", "SEQUENCE"), "ranking"
    ),
    "sources/source.py": {"PIECE_BYTES": "frames memory"},
    "steps/step.py": {"ROWS_AT_ONCE": "never-slower memory"},
    "steps/by_column.py": {"WRITTEN_BYTES": "memory", "MOST_AT_ONCE": "memory"},
    "steps/raw_columns.py": {"MOST_AT_ONCE": "memory"},
    "early_exit/compiled/late_columns.py": dict.fromkeys(
        ("FEW_ROWS", "LOOKED_UP", "FOUND", "ADDED", "TAKEN", "READ"), "pipelines"
    ),
    "early_exit/compiled/full_numbers.py": {"AT_ONCE": "memory"},
    "steps/above.py": {"AT_ONCE": "memory"},
    "steps/cuts.py": {"AT_ONCE": "pipelines", "FEW": "pipelines"},
    "steps/named_columns.py": {"ROWS": "memory"},
    "steps/text_columns.py": {"TEXTS": "memory"},
    "early_exit/compiled/certification.py": {"PIECE_ROWS": "memory"},
    "engine/stages.py": {"LEAST_VARIANCE": "trees-wide trees-flights"},
    "engine/compiled.py": {"INLINE_ROWS": "never-slower trees-calls"},
    "engine/python_engine.py": {"ROWS": "never-slower"},
    "models/tree_work.py": dict.fromkeys(
        (
            *("LINE", "TURN", "PASS", "SCATTERED_LINE", "COLUMN", "SEARCH_STEP", "GATHERED_STEP", "SPLIT", "LEAF"),
            *("GROUP", "CATEGORIES", "GATHERED_LEAF", "WALK", "STAGE", "OUTPUT"),
        ),
        TREES,
    ),
    "models/documents.py": {"LOOKS": "texts", "BLOCK": "texts", "SPREAD": "texts"},
    "models/landmarks.py": {"BLOCKS": SVM, "STEPS": SVM, "RIDGE": SVM, "LEAST_ROWS": SVM},
    "models/members.py": {"BLOCK": "never-slower", "LARGEST_BLOCK": "never-slower", "BLOCK_PRODUCTS": "never-slower"},
    "models/kernel.py": {"SPARSE_FEATURES": "svm-binary", "SURROGATE_FEATURES": SVM, "MOST_DIRECTIONS": SVM},
}

LIMIT, ROUNDING, LEVEL, HARDWARE = "a limit", "rounding", "a level or count of a test", "as an engine or library has it"
#: File and constant: why no benchmark changes it.
FIXED = {
    "plan/readout.py": {"LEAST_VARIANCE": ROUNDING},
    "plan/spread.py": {"ROUNDING": ROUNDING},
    "plan/prior.py": {"_CONSTANT": ROUNDING},
    "plan/order.py": {"_FLOOR": ROUNDING},
    "plan/recipes.py": {"VALUE_BYTES": LIMIT, "FEW_GROUPS": LIMIT},
    "early_exit/fitting/surrogate_costs.py": {
        **dict.fromkeys(("QUICK", "ROUNDS", "TIMED_ROWS"), LEVEL),
        "ROUNDED_TO": ROUNDING,
    },
    "early_exit/fitting/opaque.py": {"FEW_LABELS": LIMIT},
    "early_exit/fitting/opaque_plan.py": {"MOST_CHOSEN": LIMIT, "NEVER": ROUNDING},
    "early_exit/fitting/call_budget.py": dict.fromkeys(
        ("ASKED_AGAIN", "AGAIN_PART", "LEAST_LEARNT", "LEAST_PLANNED", "LEAST_AGAIN"), LEVEL
    ),
    "early_exit/fitting/late_answers.py": {"MOST_NAMED": LIMIT, "ROUNDING": ROUNDING},
    "early_exit/fitting/taught.py": dict.fromkeys(("DEARER", "GROWS", "MOST_OTHER", "SECONDS_MORE"), LEVEL),
    "early_exit/fitting/late_certificate.py": {"SIZE_STEP": ROUNDING},
    "early_exit/fitting/late_classes.py": {"NEVER": ROUNDING},
    "early_exit/fitting/lazy_walk.py": {"UNKNOWN": LEVEL},
    "early_exit/fitting/bought_parts.py": {"ALL_ROWS": LIMIT, "LEAST_PROBABILITY": ROUNDING},
    "early_exit/fitting/bought_sets.py": dict.fromkeys(("ALL_CHOICES", "CHOICE_ROWS", "LEAVES", "TREES"), LIMIT),
    "early_exit/ranker_training.py": {"TRAINING_SHARE": "as the other estimators split rows"},
    "early_exit/compiled/planner.py": {"MOST_SPLITS": LIMIT},
    "early_exit/compiled/auditing.py": {"UNKNOWN": "no code"},
    "early_exit/compiled/in_time.py": {"SHARE": LEVEL, "GROWTH": LIMIT},
    "early_exit/within.py": {"LOOKED_AT": LEVEL, "QUANTILES": LEVEL, "SHARE": LEVEL},
    "sources/lazy_groups.py": {"AT_HAND": HARDWARE, "MOST_NAMED": LIMIT},
    "plan/timing.py": {"THREAD_CLOCK": HARDWARE},
    "plan/moments.py": {"FAR": ROUNDING},
    "early_exit/compiled/late_steps.py": {"ALIKE": ROUNDING},
    "early_exit/compiled/documents.py": {"ROUNDS": LEVEL},
    "early_exit/compiled/texts.py": {"TEXTS": "texts that are tried"},
    "early_exit/compiled/explaining.py": {"MOST_NAMED": LIMIT, "MOST_UNREAD": LIMIT},
    "early_exit/compiled/parts.py": {"LONGEST": LIMIT},
    "early_exit/compiled/tokens.py": {"LONGEST": LIMIT},
    "early_exit/compiled/odd_cells.py": {"SHOWN": LIMIT},
    "early_exit/compiled/one_probability.py": {"MADE": LEVEL, "ANSWERED": LEVEL},
    "early_exit/outlier_detector.py": {"LABELS": "as an engine or library has it"},
    "steps/named_columns.py": {"MOST_COLUMNS": LIMIT},
    "steps/raw_columns.py": {"IN_SINGLE": ROUNDING},
    "steps/unmet.py": {"MOST_NAMED": LIMIT},
    "early_exit/compiled/in_front.py": {"TIMED_ROWS": LEVEL, "NEARLY_ALL": LEVEL, "MOST_NAMED": LIMIT},
    "ranking/estimates.py": {"MOST_BYTES": LIMIT},
    "ranking/planning.py": {"PLANNED_LEVEL": LEVEL, "LEAST_GROUPS": LEVEL},
    "steps/applied.py": {"MOST_WRITTEN": LIMIT},
    "steps/quick.py": dict.fromkeys(("COMPARED", "COMPARED_COLUMNS", "LEAST_QUANTILES", "LEAST_ROWS"), LEVEL),
    "steps/quick_splines.py": {
        **dict.fromkeys(("COMPARED", "COMPARED_COLUMNS", "COMPARED_KNOTS"), LEVEL),
        "MOST_DEGREE": LIMIT,
    },
    "steps/tables.py": {"BYTES": HARDWARE, "COMPARED": LEVEL},
    "steps/questions.py": {"MOST_VALUES": LIMIT},
    "steps/known_values.py": {"INEXACT": ROUNDING, "TEXTS": "texts that are tried"},
    "steps/vectorizers.py": {"MOST_GRAMS": LIMIT, "MOST_HASHED": HARDWARE, "MOST_LETTERS": LIMIT},
    "steps/affine.py": {"LEAST_SCALE": ROUNDING, "MOST_SCALE": ROUNDING},
    "early_exit/fitting/costs.py": {"LINE": HARDWARE},
    "early_exit/compiled/full_model.py": {"COPIES": HARDWARE, "COPIED_BYTES": LIMIT},
    "early_exit/fitting/data_split.py": {"DUPLICATES": LEVEL, "DUPLICATE_SHARE": LEVEL},
    "early_exit/fitting/planning.py": {"LARGEST_SINGLE": LIMIT, "LARGEST_SCORE": LIMIT},
    "early_exit/compiled/certification.py": {"LIKELY": LEVEL, "FEW_ROWS": LEVEL},
    "early_exit/compiled/rare_classes.py": dict.fromkeys(
        ("LARGE_PART", "TIMES", "FEWEST_LOST", "LOST_PART", "RARE", "MOST_NAMED"), LEVEL
    ),
    "early_exit/fitting/truth.py": {"MOST_NAMED": LIMIT},
    "early_exit/fitting/selection.py": {"PLANNED": "a progress bar", "TIMED_FROM": "a progress bar"},
    "early_exit/compiled/locating.py": {"SEARCHED_ROWS": LIMIT},
    "early_exit/compiled/time_of_one.py": {"REPEATS": LEVEL, "ROWS": LEVEL},
    "early_exit/compiled/self_check.py": {"GIVEN_ROWS": LEVEL, "INVENTED_ROWS": LEVEL, "LARGEST_ARRAY": LIMIT},
    "early_exit/compiled/made_rows.py": dict.fromkeys(
        ("THRESHOLD_ROWS", "SEGMENTS", "HALVINGS", "SECONDS", "ENGINE_SECONDS", "FEWEST"), LEVEL
    ),
    "early_exit/compiled/own_answers.py": {"ULPS": ROUNDING, "RELATIVE": ROUNDING},
    "early_exit/fitting/training_rows.py": {
        "MOST_TREES": LEVEL,
        "LEVEL": LEVEL,
        "HESSIANS": HARDWARE,
        "ROUNDING": ROUNDING,
    },
    "engine/python_engine.py": {"U": ROUNDING},
    "steps/keys.py": dict.fromkeys(("UNKNOWN", "NONE", "NAN", "NA", "OTHER"), "an order that the extension has, too"),
    "sources/checks.py": {"ROWS": LEVEL, "STANDS_FOR_NAN": LEVEL},
    "sources/schema.py": {"MOST_NAMED": LIMIT},
    "models/tree_work.py": dict.fromkeys(
        (
            *("PANEL", "BLOCK", "THRESHOLDS", "GROUPED", "STEP_LEAVES", "EXITS", "REGISTER_STEPS", "FEW_STEPS"),
            "LINE_VALUES",
        ),
        HARDWARE,
    ),
    "models/members.py": {"PROBABILITY_ERROR": ROUNDING},
    "models/documents.py": {"MOST_OUTPUTS": LIMIT, "UNREAD": ROUNDING},
    "models/kernel.py": {"PACKED_BYTES": LIMIT},
}


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """Names of the module's constants that hold numbers other than 0, and their values as they are written."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = node.target, node.value
        else:
            continue
        names = targets.elts if isinstance(targets, ast.Tuple) else [targets]
        several = isinstance(targets, ast.Tuple) and isinstance(value, ast.Tuple)
        values = value.elts if several and isinstance(value, ast.Tuple) else [value] * len(names)
        for name, given in zip(names, values, strict=True):
            held = [
                n for n in ast.walk(given) if isinstance(n, ast.Constant) and type(n.value) in (int, float) and n.value
            ]
            typed = any(isinstance(n, ast.Subscript | ast.Lambda) for n in ast.walk(given))
            if isinstance(name, ast.Name) and name.id.lstrip("_").isupper() and held and not typed:
                yield name.id, ast.unparse(given)


def listed() -> Iterator[tuple[str, str, str]]:
    """File, name and value of every number of planning and of the engine in Python."""
    files = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    for path in [*files, *(PACKAGE / name for name in FILES)]:
        for name, value in constants(path):
            yield path.relative_to(PACKAGE).as_posix(), name, value


def main() -> None:
    """Print the table."""
    for file, name, value in listed():
        settings = TUNABLES.get(file, {}).get(name)
        if settings is not None:
            print(f"{file + ':' + name:<44} {value:<24} {settings}")


if __name__ == "__main__":
    main()
