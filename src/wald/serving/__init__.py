"""A web service around a saved model: one row in microseconds, JSON and Arrow, metrics, reload and graceful stop."""

from .app import create_app

__all__ = ["create_app"]
