"""What to do if something is to be different, with the numbers of this classifier."""

from __future__ import annotations

from ..stopping.core.binomial import rows_needed
from ..utils.figures import number, percent, thousands
from .facts import Facts
from .markup import Markup, joined, tag
from .values import short

#: A class with a smaller share of the rows counts as rare.
_RARE = 0.02
#: The default of EarlyExitClassifier, which code need not say.
USUAL_CONFIDENCE = 0.95
#: Longest label in a line of code.
_LONGEST = 60


def advice(facts: Facts) -> Markup:
    """Answers to common questions, those first that concern this classifier now."""
    found = [_few(facts), _broken(facts)]
    found += [_drift(facts), _other_risk(facts), _rare(facts), _speed(facts), _cap(facts), _changed()]
    return joined(*found)


def _wrap(facts: Facts, risk: float, **others: str) -> str:
    """Lines of code that wrap the fitted model anew, at the confidence in use."""
    given = {"risk": f"{risk:.4g}", **others}
    if facts.confidence != USUAL_CONFIDENCE:
        given["confidence"] = f"{facts.confidence:g}"
    words = "".join(f", {name}={value}" for name, value in given.items())
    return (
        "from sklearn.frozen import FrozenEstimator\nfrom wald import EarlyExitClassifier\n\n"
        f"fast = EarlyExitClassifier(FrozenEstimator(model){words})\nfast.fit(X_rows)"
    )


def _answer(question: str, words: str, code: str | None = None) -> Markup:
    block = None if code is None else tag("pre", tag("code", code), tabindex="0", role="region", aria_label=question)
    return joined(tag("h3", question), tag("p", words), block)


def _few(facts: Facts) -> Markup | None:
    scarce = [s for s in facts.certificate["strata"] if s["n_rows"] < (s["rows_needed"] or 0)]
    if facts.certificate["status"] != "too few rows" or not scarce:
        return None
    worst = max(scarce, key=lambda s: s["rows_needed"] - s["n_rows"])
    least = facts.certificate["smallest_risk"]
    words = (
        f"The certificate needs {thousands(worst['rows_needed'])} {worst['name']} and had "
        f"{thousands(worst['n_rows'])}. They need no labels. Give fit more rows, or accept a larger risk"
    )
    words += f": so many rows can back {percent(least)} at best." if least is not None and least < 0.99 else "."
    return _answer("There were too few rows for a promise", words)


def _broken(facts: Facts) -> Markup | None:
    if facts.broken is None:
        return None
    words = (
        "Check whether these rows come from the same source as those given to fit, in the same order of columns and "
        "after the same cleaning. If they are what will be served, plan and certify on such rows anew."
    )
    return _answer("These rows contradict the promise", words, "fast.fit(X_recent)")


def _drift(facts: Facts) -> Markup | None:
    if facts.exact:  # on rows of any source
        return None
    subject = "counts of the certificate are" if facts.certificate["status"] == "measured" else "promise is"
    words = (
        f"The {subject} about rows like those given to fit. In service, a watched classifier has the full model answer "
        "a share of the rows as well, and says when something has changed. Or collect recent rows from time to time, "
        "without labels, and certify the same plan on them, or write this report again with them. If the plan fails "
        "there, call fit with them."
    )
    code = (
        "watched = fast.watched(0.01)  # the full model answers 1 % of the rows, too\n"
        "labels = watched.predict(X)\nprint(watched.monitor_)\n\n"
        "fast = fast.recertify(X_recent)\nprint(fast.certificate_)"
    )
    return _answer("The data drift", words, code)


def _other_risk(facts: Facts) -> Markup:
    own = facts.certificate
    risk = own["risk"] or facts.risk
    level = own["confidence"] if 0 < own["confidence"] < 1 else facts.confidence
    if not risk:
        words = (
            "A risk above 0 lets a small, certified share of the labels differ, and usually saves much more. At "
            f"{_backing(0.001, facts.confidence)}. They need no labels."
        )
        return _answer("You can accept a risk", words, _wrap(facts, 0.001))
    if facts.evaluate_all:
        least = own["smallest_risk"] or 0.0
        larger = min(max(10 * risk, 2 * least), (1 + risk) / 2)
        words = (
            "At this risk every row is evaluated in full. A larger one may let rows leave early. At "
            f"{_backing(larger, level)}."
        )
        return _answer("You can accept a larger risk", words, _wrap(facts, larger))
    half = risk / 2
    words = (
        f"Certify the same plan at another risk on fresh rows. At {_backing(half, level)}, and a few times as many are "
        "better. With risk=0 no label may differ at all."
    )
    return _answer("You need another risk", words, f"fast = fast.recertify(X_fresh, risk={half:.4g})")


def _backing(risk: float, confidence: float) -> str:
    """How many rows back a risk."""
    rows = thousands(rows_needed(risk, confidence))
    return f"{percent(confidence, 6)} confidence, a risk of {percent(risk, 4)} takes at least {rows} certificate rows"


def _rare(facts: Facts) -> Markup | None:
    if facts.exact:  # in every class
        return None
    counted = [c for c in facts.classes if c.n_rows]
    rare = min(counted, key=lambda c: c.n_rows)
    words = "A promise about all rows may be kept while many rows of a rare class get another label. "
    if rare.n_rows < _RARE * facts.n_rows:
        words += f"Here {rare.name} is the answer for {percent(rare.n_rows / facts.n_rows)} of the rows only. "
    words += "A class can have a promise of its own, which takes certificate rows of that class."
    labels = {short(label): label for label in facts.model["classes"].tolist()}
    named = repr(labels.get(rare.name, "label"))
    if len(named) > _LONGEST:
        named = "label"
    risk = facts.certificate["risk"] or facts.risk or 0.01
    return _answer("A class is rare and matters", words, _wrap(facts, risk, protect=f"{{{named}: 0.01}}"))


def _speed(facts: Facts) -> Markup:
    first = "a risk above 0"
    if facts.risk != 0:
        first = "a larger risk; more rows for fit, so that thresholds need less caution"
    words = (
        f"In order of what usually helps: {first}; predict_one instead of predict for single rows; n_jobs for large "
        "batches; float32 rows that are contiguous in memory."
    )
    last = facts.stages[-1]
    if not facts.evaluate_all and last.n_reached:
        spent = last.n_left * last.cost / max(facts.mean_cost * facts.n_rows, 1e-300)
        words += (
            f" Here {percent(last.n_left / facts.n_rows)} of the rows reach the full model, and they take "
            f"{percent(spent)} of the whole cost."
        )
    return _answer("You need more speed", words, "label = fast.predict_one(x)")


def _cap(facts: Facts) -> Markup | None:
    if len(facts.stages) == 1:  # nothing between all and nothing
        return None
    middle = facts.stages[len(facts.stages) // 2].cost
    words = (
        "A budget caps the cost of each row: rows that are not clear by then get the best label so far. The promise "
        "does not cover such calls."
    )
    code = f"labels, cost = fast.predict(X, budget={middle:g}, return_cost=True)  # {number(middle)} {facts.unit}"
    return _answer("No row may cost more than so much", words, code)


def _changed() -> Markup:
    words = "Plan and thresholds belong to one fitted model. After training it anew, wrap and certify the new one."
    return _answer("The model is trained again", words)
