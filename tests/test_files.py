"""Files are written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wald.utils.files import atomic_file


def test_appears_when_complete_and_with_the_usual_rights(tmp_path):
    path, usual = tmp_path / "labels.csv", tmp_path / "usual"
    with atomic_file(path) as beside:
        beside.write_text("half", "utf-8")
        assert not path.exists()
        assert beside.parent == tmp_path
    usual.touch()
    assert path.read_text("utf-8") == "half"
    assert path.stat().st_mode == usual.stat().st_mode
    assert sorted(tmp_path.iterdir()) == [path, usual]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old", "utf-8")

    def interrupted():
        with atomic_file(path) as beside:
            beside.write_text("new", "utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_when_interrupted_while_the_file_is_made(tmp_path, monkeypatch):
    touch = Path.touch

    def interrupted(self, *args, **kwargs):
        touch(self, *args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "touch", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "labels.csv"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "labels.csv", tmp_path / "link"
    path.write_text("old", "utf-8")
    try:
        link.symlink_to(path)
    except OSError:  # Windows, without the right to make links
        pytest.skip("no links here")
    with atomic_file(link) as beside:
        beside.write_text("new", "utf-8")
    assert link.is_symlink()
    assert path.read_text("utf-8") == "new"


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced on Windows")
def test_who_has_the_old_file_open_reads_on(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old", "utf-8")
    with path.open(encoding="utf-8") as file:
        with atomic_file(path) as beside:
            beside.write_text("new", "utf-8")
        assert file.read() == "old"
