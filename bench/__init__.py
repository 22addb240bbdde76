"""Speed, work and memory compared with the peers, in one run on the same rows: ``python -m bench``."""

import os

from .surroundings import OURS

# Before anything loads these libraries: two threads at the most, whatever the machine has.
for _name, _value in OURS.items():
    os.environ.setdefault(_name, _value)
