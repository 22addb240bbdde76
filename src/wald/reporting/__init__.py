"""One page about a fitted classifier, for the person who decides whether to use it.

`gather` measures a classifier on rows and returns plain data; `page` turns these into HTML. All text passes through
`markup`, which escapes it; `charts` draws SVG with it. A page needs no network, no script and no other file.
"""

from .writing import report

__all__ = ["report"]
