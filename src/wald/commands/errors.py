"""What the user can put right."""


class UserError(Exception):
    """A mistake or a lack, reported in one message: what is wrong, where, and what to do. Exit code 2."""
