"""The error of a job that the user can correct."""


class JobError(ValueError):
    """A job cannot begin or go on; the message names the file, and says what to do."""
