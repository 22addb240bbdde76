"""fetch_20newsgroups_binary, with scikit-learn's loader replaced by a few posts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import Bunch

from reproduce import _newsgroups as newsgroups
from reproduce._newsgroups import fetch_20newsgroups_binary

NAMES = ["rec.autos", "sci.space", "talk.guns"]
POSTS = {
    "train": (["engine wheel road", "rocket orbit moon", "barrel trigger law"] * 6, [0, 1, 2] * 6),
    "test": (["engine telescope road", "law moon"] * 2, [0, 2] * 2),
}


@pytest.fixture
def loader_calls(monkeypatch) -> list[dict[str, object]]:
    seen: list[dict[str, object]] = []

    def fetch(*, subset, **options):
        seen.append({"subset": subset, **options})
        data, target = POSTS[subset]
        return Bunch(data=list(data), target=np.array(target), target_names=NAMES)

    monkeypatch.setattr(newsgroups, "fetch_20newsgroups", fetch)
    monkeypatch.setattr(newsgroups, "_ROWS", {name: len(posts) for name, (posts, _) in POSTS.items()})
    monkeypatch.delenv("WALD_DATA", raising=False)
    return seen


def test_rows_have_length_1_and_two_classes(loader_calls):
    bunch = fetch_20newsgroups_binary()
    assert bunch.data.shape == (18, 9)
    assert bunch.data.format == "csr"
    np.testing.assert_allclose(np.sqrt(bunch.data.multiply(bunch.data).sum(axis=1)), 1)
    np.testing.assert_array_equal(bunch.target, [1, 1, 0] * 6)
    np.testing.assert_array_equal(bunch.group, POSTS["train"][1])
    assert len(bunch.feature_names) == 9
    assert "real-sim" in bunch.DESCR


def test_words_come_from_the_training_posts_alone(loader_calls):
    bunch = fetch_20newsgroups_binary(subset="test")
    assert bunch.data.shape == (4, 9)
    assert "telescope" not in bunch.feature_names
    train = fetch_20newsgroups_binary(subset="train").data
    both, labels = fetch_20newsgroups_binary(subset="all", return_X_y=True)
    np.testing.assert_array_equal(both.toarray(), np.vstack([train.toarray(), bunch.data.toarray()]))
    assert labels.tolist() == [1, 1, 0] * 6 + [1, 0] * 2


def test_other_groups_and_dtype(loader_calls):
    X, y = fetch_20newsgroups_binary(positive=["talk."], dtype=np.float32, return_X_y=True)
    assert X.dtype == np.float32
    assert y.tolist() == [0, 0, 1] * 6


def test_wald_data_comes_first(loader_calls, tmp_path, monkeypatch):
    fetch_20newsgroups_binary(data_home="cache", download_if_missing=False, random_state=3, remove=["quotes"])
    expected = {"data_home": "cache", "download_if_missing": False, "random_state": 3, "remove": ("quotes",)}
    assert loader_calls[-1] == {"subset": "train", **expected}
    monkeypatch.setenv("WALD_DATA", str(tmp_path))
    fetch_20newsgroups_binary(data_home="cache")
    assert loader_calls[-1]["data_home"] == "cache"  # there is nothing in WALD_DATA yet
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "20news-bydate_py3.pkz").touch()
    fetch_20newsgroups_binary(data_home="cache")
    assert loader_calls[-1]["data_home"] == tmp_path / "sklearn"


def test_posts_are_counted(loader_calls, monkeypatch):
    monkeypatch.setattr(newsgroups, "_ROWS", {"train": 19, "test": 4})
    with pytest.raises(ValueError, match="18 train posts instead of 19"):
        fetch_20newsgroups_binary()


@pytest.mark.parametrize(
    ("name", "value"), [("subset", "valid"), ("dtype", "int32"), ("positive", ["comp."]), ("positive", [""])]
)
def test_arguments_are_checked(loader_calls, name, value):
    with pytest.raises(ValueError, match=name):
        fetch_20newsgroups_binary(**{name: value})


@pytest.mark.slow
def test_the_real_thing(wald_data):
    if not (wald_data / "sklearn" / "20news-bydate_py3.pkz").is_file():
        pytest.skip(f"no 20 newsgroups in {wald_data}")
    X, y = fetch_20newsgroups_binary(return_X_y=True, download_if_missing=False)
    assert X.shape[0] == 11_314
    assert y.sum() == 4762
