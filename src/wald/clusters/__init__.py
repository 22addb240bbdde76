"""What `wald.dask`, `wald.ray` and `wald.spark` share: the model on its way to workers, and answers of a partition."""

from __future__ import annotations

from .job import Job, Predictions
from .shipping import Shipment, receive, ship

__all__ = ["Job", "Predictions", "Shipment", "receive", "ship"]
