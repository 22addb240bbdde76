"""A picture of the parts that a budgeted predictor bought costly features for: words, images, or trees."""

from .display import AcquisitionDisplay

__all__ = ["AcquisitionDisplay"]
