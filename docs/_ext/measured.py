"""Tables of figures that were measured: the directives `measured` and `findings`.

Pages name a figure by its setting and its name in `bench/results/`, so that no page repeats a number by hand; tables of
the papers come from `reproduce/results/`. A figure that is not there ends the build.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from bench.results import Results
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

FINDINGS = Path(__file__).parents[2] / "reproduce" / "results"


class Lines(SphinxDirective):
    """A directive that writes Markdown."""

    def markdown(self, lines: list[str]) -> list[nodes.Node]:
        box = nodes.container()
        box.document = self.state.document
        self.state.nested_parse(StringList(lines, source=self.get_location()), 0, box)
        return box.children

    def small(self, line: str) -> list[nodes.Node]:
        box = nodes.container(classes=["origin"])
        box += self.markdown([line])
        return [box]


class Measured(Lines):
    """A line per figure: what it is | setting | name of the figure | its peer, where several have that name."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        table, settings = ["| | measured | compared with |", "| --- | --- | --- |"], []
        for line in self.content:
            words, setting, name, *peers = (part.strip() for part in line.split("|"))
            results = self.results(setting)
            found = [f for f in results.figures if f.name == name and (not peers or f.peer == peers[0])]
            if len(found) != 1:
                raise self.error(f"{setting} has {len(found)} figures for {line!r}, not one")
            _, value, peer, _ = found[0].cells()
            table.append(f"| {words} | {value} | {peer.replace('|', '/')} |")
            settings.append(setting)
        origin = " ".join(self.origin(setting) for setting in dict.fromkeys(settings))
        return self.markdown(table) + self.small(origin)

    def results(self, setting: str) -> Results:
        try:
            return Results.load(setting)
        except FileNotFoundError:
            raise self.error(f"bench/results has no {setting}.json") from None

    def origin(self, setting: str) -> str:
        results = self.results(setting)
        return f"[{setting}](/benchmarks.md#{setting}): {results.title}; {results.date}, {results.machine}."


class Findings(Lines):
    """A table of a full run of `make reproduce`; by default the paper's claims, and what was found."""

    required_arguments = 1
    option_spec: ClassVar = {"heading": directives.unchanged, "number": int}

    def run(self) -> list[nodes.Node]:
        file = FINDINGS / f"{self.arguments[0]}.json"
        self.env.note_dependency(str(file))
        kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
        heading = self.options.get("heading", "The paper's claims")
        found = [table for table in kept["tables"] if table["heading"] == heading]
        try:
            table = found[self.options.get("number", 0)]
        except IndexError:
            raise self.error(f"{file.name} has {len(found)} tables of the heading {heading!r}") from None
        rows = [table["head"], ["---"] * len(table["head"]), *table["rows"]]
        origin = f"`{kept['command']}`, {kept['date']}, {kept['machine']}, {', '.join(kept['libraries'])}."
        box = nodes.container(classes=["findings"])
        box += self.markdown([f"| {' | '.join(row)} |" for row in rows])
        return [box, *self.small(origin)]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("measured", Measured)
    app.add_directive("findings", Findings)
    return {"parallel_read_safe": True}
