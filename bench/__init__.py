"""Speed, work and memory against the real peers, in one run on the same rows: ``python -m bench``."""

import os

# Before anything loads these libraries: two threads at the most, whatever the machine has.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_name, "2")
