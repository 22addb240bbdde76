"""Common steps of all displays: require matplotlib, check the estimator and the rows, and make axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any, Self

from ..early_exit.base import EarlyExitEstimator
from ._source import require_fitted, require_matplotlib, require_rows


class Display(ABC):
    """Base of the displays: numbers that are computed once and drawn as often as wanted."""

    name: str | None

    @classmethod
    def _caller(cls, method: str) -> str:
        """Name of a method, for errors. Without matplotlib the method ends here, before it computes anything."""
        caller = f"{cls.__name__}.{method}"
        require_matplotlib(caller)
        return caller

    @classmethod
    def _checked(cls, estimator: Any, X: Any) -> tuple[str, EarlyExitEstimator, int]:
        """Name of ``from_estimator``, the estimator if a display can read it, and the number of rows."""
        caller = cls._caller("from_estimator")
        return caller, require_fitted(estimator, caller), require_rows(X, caller)

    def _load_style(self) -> ModuleType:
        """The module that loads matplotlib."""
        self._caller("plot")
        from . import _style

        return _style

    def _named(self, name: str | None) -> str | None:
        return self.name if name is None else name


class AxesDisplay(Display):
    """Base of the displays that need one axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    @abstractmethod
    def _draw(self, ax: Any, style: ModuleType, name: str | None, **kwargs: Any) -> None:
        """Draw onto axes."""

    @property
    def _height(self) -> float:
        """Inches from top to bottom of a figure of its own."""
        return 2.6

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw everything onto one axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a curve on axes that hold others gets the next colour. A new figure of column width when
            None.
        name : str, default=None
            For the legend; ``self.name`` when None.
        **kwargs : dict
            For the matplotlib function that ``from_estimator`` names.

        Returns
        -------
        Self
            The display, with the attributes that end in an underscore.
        """
        style = self._load_style()
        ax = style.new_axes(height=self._height) if ax is None else ax
        self._draw(ax, style, self._named(name), **kwargs)
        self.ax_, self.figure_ = ax, ax.figure
        return self
