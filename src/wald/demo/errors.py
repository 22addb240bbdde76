"""What the user can put right."""

from ..commands.errors import UserError


class DemoError(UserError):
    """A mistake or a lack that is told in one line: what, where, and what to do."""
