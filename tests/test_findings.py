"""The tool that keeps the tables of `wald reproduce` reads them all, and refuses quick runs."""

import json
import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "findings.py"))
RESULTS = sorted(TOOL["RESULTS"].glob("*.json"))
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
    claims, ladder = TOOL["tables"](PAGE)
    assert claims == {
        "heading": "The paper's claims",
        "head": ["", "the paper", "here", "verdict"],
        "rows": [["1", "It is fast.", "2 (1 to 3)", "holds"]],
    }
    assert ladder["heading"] == "The ladder"
    assert ladder["rows"] == [["a", "1"], ["b", "2"]]


def test_a_quick_run_is_refused(tmp_path):
    (tmp_path / "findings.md").write_text(PAGE.format(note="**This was a quick run.**"), encoding="utf-8")
    with pytest.raises(SystemExit, match="quick run"):
        TOOL["main"]("focus-of-attention", tmp_path)


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_kept_tables_are_whole(file):
    kept = json.loads(file.read_text("utf-8"))
    assert kept["command"] == f"wald reproduce {file.stem}"
    assert any(table["heading"] == "The paper's claims" for table in kept["tables"])
    assert all(len(row) == len(table["head"]) for table in kept["tables"] for row in table["rows"])
