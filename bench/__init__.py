"""Benchmarks: speed, work and memory beside other libraries, in one run on the same rows (``python -m bench``)."""

import os

from .surroundings import OURS

# At most two threads on any machine; set before these libraries are loaded.
for _name, _value in OURS.items():
    os.environ.setdefault(_name, _value)
