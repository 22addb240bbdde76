"""Files of every format version load, and give the answers of the version that wrote them."""

import json
from pathlib import Path

import numpy as np
import pytest
from persistence.make_files import labels_of

import wald
from wald.persistence import container

FILES = Path(__file__).parent / "files"
ANSWERS = {
    name: of for path in FILES.glob("v*-answers.json") for name, of in json.loads(path.read_text("utf-8")).items()
}
OTHERS = {
    name: of for path in FILES.glob("v*-estimators.json") for name, of in json.loads(path.read_text("utf-8")).items()
}
OLD = sorted(ANSWERS)


def test_every_format_version_is_here():
    for version in range(1, container.FORMAT + 1):
        found = [name for name in OLD if name.startswith(f"v{version}-")]
        assert {f"v{version}-{kind}.wald" for kind in ("linear", "rbf", "sparse", "one-vs-one")} <= set(found)
        assert {f"v{version}-{kind}.wald" for kind in ("parser", "chain", "online")} <= set(OTHERS)
    assert {path.name for path in FILES.glob("v*.wald")} == {*OLD, *OTHERS}


@pytest.mark.parametrize("name", OLD)
def test_old_files_answer_as_recorded(name):
    answers = ANSWERS[name]
    loaded = wald.load(FILES / name)
    X = np.array(answers["rows"])
    labels, cost = loaded.predict(X, return_cost=True)
    assert labels.tolist() == answers["labels"]
    assert cost.tolist() == answers["cost"]
    scores, stages = loaded.stage_scores(X)
    assert stages.tolist() == answers["stages"]
    # between instruction sets, scores agree to rounding
    np.testing.assert_allclose(scores, np.array(answers["scores"]), rtol=1e-4, atol=1e-4)
    # certificates no longer print an upper limit that was computed at the chosen scale
    assert str(loaded.certificate_) == answers["certificate"].split(", bound")[0]
    assert len(set(stages.tolist())) > 1  # some rows leave early


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_models_answer_as_recorded(name):
    model = wald.load(FILES / name)
    assert labels_of(model, OTHERS[name]["rows"]) == OTHERS[name]["labels"]
    assert len(set(OTHERS[name]["labels"])) > 1
    wald.persistence.from_bytes(wald.persistence.to_bytes(model))


@pytest.mark.parametrize("name", OLD)
def test_old_files_can_be_saved_in_the_present_format(name, tmp_path):
    loaded = wald.load(FILES / name)
    wald.save(loaded, tmp_path / "new")
    X = np.random.default_rng(1).normal(size=(100, loaded.n_features_in_))
    again = wald.load(tmp_path / "new")
    for ours, theirs in zip(again.predict(X, return_cost=True), loaded.predict(X, return_cost=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_files_are_small():
    assert all(path.stat().st_size < 70_000 for path in FILES.iterdir())  # the smallest parser has 67 kB
