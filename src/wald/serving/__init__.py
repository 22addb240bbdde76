"""A web service around a saved model: one row in microseconds, JSON and Arrow, metrics, reload and graceful stop."""

from .app import Service, create_app

__all__ = ["Service", "create_app"]
