"""Saved results, with one JSON file per setting, and their tables in ``README.md``."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .report import Figure, markdown_table, rounded

README = Path(__file__).with_name("README.md")
FOLDER = Path(__file__).with_name("results")
#: The place of a setting in ``README.md``; the text between the two lines is rendered.
BLOCK = re.compile(r"(<!-- results (?P<setting>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Results:
    """The figures of one setting, with the date, machine, libraries and command of their measurement."""

    setting: str
    title: str
    command: str
    date: str
    machine: str
    libraries: list[str]
    figures: list[Figure]

    def save(self, folder: Path = FOLDER) -> Path:
        """Write the file of this setting; figures are rounded to the digits that tables show."""
        kept = replace(self, figures=[replace(figure, value=rounded(figure.value)) for figure in self.figures])
        content: dict[str, Any] = asdict(kept)
        content["figures"] = [
            {name: value for name, value in figure.items() if value != ""} for figure in content["figures"]
        ]
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.setting}.json"
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, setting: str, folder: Path = FOLDER) -> Results:
        """Read the file of a setting."""
        content = json.loads((folder / f"{setting}.json").read_text(encoding="utf-8"))
        return cls(**content | {"figures": [Figure(**figure) for figure in content["figures"]]})

    def markdown(self) -> str:
        """Return the part of ``README.md`` that shows these results."""
        origin = f"`{self.command}`, {self.date}, {self.machine}, {', '.join(self.libraries)}"
        return f"{self.title}\n\n{origin}\n\n{markdown_table(self.figures)}\n"


def rendered(text: str, folder: Path = FOLDER) -> str:
    """Put the saved results into the text of a page.

    Raises
    ------
    ValueError
        If the page has no place for the results of a setting.
    """
    kept = {path.stem for path in folder.glob("*.json")}
    if without := sorted(kept - {found["setting"] for found in BLOCK.finditer(text)}):
        raise ValueError(f"The page has no lines <!-- results {without[0]} --> and <!-- end -->.")

    def block(found: re.Match[str]) -> str:
        setting = found["setting"]
        content = Results.load(setting, folder).markdown() if setting in kept else "No results are kept.\n"
        return found[1] + content + found[3]

    return BLOCK.sub(block, text)


def render() -> None:
    """Render ``README.md`` from the saved results."""
    README.write_text(rendered(README.read_text(encoding="utf-8")), encoding="utf-8")
