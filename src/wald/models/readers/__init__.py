"""Readers of fitted models, one file per kind of model."""
