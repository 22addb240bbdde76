"""``wald demo``: kernel machines, a linear model and boosted trees with early exit, in a table and three pictures.

``material`` holds the rows and models, ``measure`` measures them, ``report`` prints the table and ``pictures`` draws;
``run`` calls them in this order. The demo needs the extras ``cli`` and ``plot``.
"""

from .run import run_demo

__all__ = ["run_demo"]
