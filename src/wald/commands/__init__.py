"""The commands of ``wald``, one file each, and their shared modules.

``rows`` reads data files, and ``models`` reads model files. ``options`` holds the options that several commands share,
``answers`` prints results, warnings and errors, and ``demo`` is more than one file. The commands need the
extra ``cli``.
"""
