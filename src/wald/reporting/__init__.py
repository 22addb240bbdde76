"""One page about a fitted early-exit estimator, for the person who decides whether to use it.

`gather` measures it on rows and returns plain data; `page` fills the templates with these, which escape all
text, and draws displays as SVG. A page needs no network, no script and no other file.
"""

from .writing import report

__all__ = ["report"]
