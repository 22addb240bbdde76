"""How to install an optional part of wald: the one place of the sentence that messages and the documentation share."""

from __future__ import annotations


def install(*extras: str) -> str:
    """Return the command that installs wald with these extras, and where it is run.

    Parameters
    ----------
    *extras : str
        Names of optional dependencies, such as "cli".

    Returns
    -------
    str
        wald is installed from a checkout, as no package index has it.
    """
    return f"pip install '.[{','.join(extras)}]' in a checkout of wald"
