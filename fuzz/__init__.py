"""Fuzzers for every reader of bytes that come from outside; see README.md."""
