"""The command line ``wald``. It needs the extra ``cli``, and loads it and all else when it is called."""

# No postponed annotations here: typer reads those of functions that are made where typer is loaded.

import sys
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

_EXTRA = ("typer", "rich")


def main() -> None:
    """Run the command line; the entry point of the script ``wald``."""
    try:
        application = build()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        print(
            f"wald: the command line needs {error.name}, which is not installed: pip install 'wald[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    try:
        application()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def build() -> "typer.Typer":
    """Make the application: one function per command.

    Returns
    -------
    typer.Typer

    Raises
    ------
    ModuleNotFoundError
        If typer or rich is missing.
    """
    import rich  # noqa: F401  # what is missing is said before anything else happens
    import typer

    from .commands import bench, demo, fit, inspect, predict, reproduce

    application = typer.Typer(name="wald", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    def show_version(wanted: bool) -> None:
        if wanted:
            from wald import __version__

            typer.echo(f"wald {__version__}")
            raise typer.Exit

    @application.callback()
    def wald(
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
        ] = False,
    ) -> None:
        """Stop computing a prediction when the answer is already clear, with a certificate.

        Exit codes: 0 done; 1 the answer is no, or a promise does not hold; 2 something to put right.
        """

    for command in (fit.fit, predict.predict, inspect.inspect, bench.bench, reproduce.reproduce, demo.demo):
        application.command()(command)
    return application


if __name__ == "__main__":
    main()
