"""Stopping rules: each turns a walk into a boundary."""
