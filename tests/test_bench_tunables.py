"""Every number of planning and of the engine is in the table of tunables, or is said to be fixed."""

from __future__ import annotations

from bench.settings import SETTINGS
from bench.tunables import FIXED, TUNABLES, listed


def test_every_number_is_listed_once_and_nothing_else_is():
    there = {(file, name) for file, name, _ in listed()}
    tunable = {(file, name) for file, names in TUNABLES.items() for name in names}
    fixed = {(file, name) for file, names in FIXED.items() for name in names}
    assert tunable | fixed == there
    assert not tunable & fixed


def test_settings_are_those_of_the_bench():
    for names in TUNABLES.values():
        for settings in names.values():
            assert set(settings.split()) <= set(SETTINGS)
