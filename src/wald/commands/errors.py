"""Errors that the user can correct."""


class UserError(Exception):
    """An error that the user can correct; its message says what is wrong, where, and what to do. Exit code 2."""
