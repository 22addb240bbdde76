"""The tables of full runs are kept whole; those of quick runs are refused."""

import json

import pytest

from reproduce import _kept, names

RESULTS = sorted(_kept.RESULTS.glob("*.json"))
PAGE = """# A paper, run again
{note}
## The paper's claims

|  | the paper | here | verdict |
| --- | --- | --- | --- |
| 1 | It is fast. | 2 (1 to 3) | holds |

## The ladder

| model | full |
| --- | --- |
| a | 1 |
| b | 2 |

![picture](picture.png)
"""


def test_tables_are_read_with_their_headings():
    claims, ladder = _kept.tables(PAGE)
    assert claims == {
        "heading": "The paper's claims",
        "head": ["", "the paper", "here", "verdict"],
        "rows": [["1", "It is fast.", "2 (1 to 3)", "holds"]],
    }
    assert ladder["heading"] == "The ladder"
    assert ladder["rows"] == [["a", "1"], ["b", "2"]]


def test_what_is_kept_says_how_it_was_made(tmp_path, monkeypatch):
    monkeypatch.setattr(_kept, "RESULTS", tmp_path)
    page = tmp_path / "findings.md"
    page.write_text(PAGE.format(note=""), encoding="utf-8")
    kept = json.loads(_kept.keep("focus-of-attention", page).read_text("utf-8"))
    assert kept["command"] == 'make reproduce ARGS="focus-of-attention --write"'
    assert [len(table["rows"]) for table in kept["tables"]] == [1, 2]


def test_a_quick_run_is_refused(tmp_path):
    page = tmp_path / "findings.md"
    page.write_text(PAGE.format(note="**This was a quick run.**"), encoding="utf-8")
    with pytest.raises(ValueError, match="quick run"):
        _kept.keep("focus-of-attention", page)


def test_every_paper_has_results():
    assert [file.stem for file in RESULTS] == sorted(names())


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_kept_tables_are_whole(file):
    kept = json.loads(file.read_text("utf-8"))
    assert kept["command"] == _kept.command(file.stem)
    assert any(table["heading"] == "The paper's claims" for table in kept["tables"])
    assert all(len(row) == len(table["head"]) for table in kept["tables"] for row in table["rows"])
