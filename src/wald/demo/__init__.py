"""``wald demo``: a kernel machine and a linear model with early exit, in a table and three pictures.

``material`` says on which rows and models, ``measure`` takes the figures, ``report`` puts them into words and
``pictures`` draws them; ``run`` is the way from one to the next. It needs the extras ``cli`` and ``plot``.
"""

from .run import run_demo

__all__ = ["run_demo"]
