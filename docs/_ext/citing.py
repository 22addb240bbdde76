"""How to cite, and where a page comes from: the directive `bibtex`, and links to edit pages.

Entries are those of CITATION.cff. Pages can be edited where the repository is known: `WALD_REPOSITORY` is its address,
and GitHub's workflows set one of their own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from outside import TAKEN

DOCS = Path(__file__).parents[1]
SOURCE = DOCS.parent / "CITATION.cff"


def repository() -> str:
    """Return the address of the repository, or an empty text."""
    on_github = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ) if known() else ""
    return os.environ.get("WALD_REPOSITORY", on_github)


def known() -> bool:
    """Return whether a workflow of GitHub builds the site."""
    return {"GITHUB_SERVER_URL", "GITHUB_REPOSITORY"} <= os.environ.keys()


def entry(key: str, kind: str, fields: dict[str, Any]) -> str:
    """Return an entry of BibTeX without the fields that are empty."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def authors(people: list[dict[str, str]]) -> str:
    """Return the authors of an entry."""
    return " and ".join(
        f"{{{person['name']}}}" if "name" in person else f"{person['family-names']}, {person['given-names']}"
        for person in people
    )


def bibtex() -> str:
    """Return the software and the papers as entries of BibTeX."""
    cited = yaml.safe_load(SOURCE.read_text("utf-8"))
    software = {"author": authors(cited["authors"]), "title": cited["title"], "version": cited["version"]}
    found = [entry("wald", "software", software | {"year": cited["date-released"][:4]})]
    for paper in cited["references"]:
        fields = {"author": authors(paper["authors"]), "title": paper["title"], "year": paper["year"]}
        for identifier in paper.get("identifiers", []):
            fields["eprint"] = identifier["value"].removeprefix("arXiv:")
            fields["archiveprefix"] = "arXiv"
        key = f"{paper['authors'][0]['family-names'].lower()}{paper['year']}"
        found.append(entry(key, "article", fields))
    return "\n\n".join(found)


class BibTeX(SphinxDirective):
    """The entries of CITATION.cff."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(SOURCE))
        return [nodes.literal_block(text=bibtex(), language="bibtex")]


def link(app: Any, pagename: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Add the address at which a page can be edited."""
    file = TAKEN.get(pagename, f"docs/{pagename}.md")
    if repository() and (DOCS.parent / file).exists():
        context["edit_address"] = f"{repository()}/edit/main/{file}"


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("bibtex", BibTeX)
    app.connect("html-page-context", link)
    return {"parallel_read_safe": True}
