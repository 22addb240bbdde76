"""What the user can put right."""


class DemoError(Exception):
    """A mistake or a lack that is told in one line: what, where, and what to do."""
