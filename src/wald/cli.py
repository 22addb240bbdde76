"""The command line ``wald``. It needs the extra ``cli``, and loads it and all else when it is called."""

# No postponed annotations here: typer reads those of functions that are made where typer is loaded.

import sys
from pathlib import Path
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
    application()


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
    import rich.console
    import typer

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
        """Stop computing a prediction when the answer is already clear, with a certificate."""

    @application.command()
    def demo(
        data: Annotated[
            str, typer.Option(help="digits (those that scikit-learn ships) or mnist (a minute or two).")
        ] = "digits",
        output: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("wald-demo"),
        jobs: Annotated[int, typer.Option(help="Threads, as scikit-learn's n_jobs; -1 takes all.")] = 1,
        seed: Annotated[int, typer.Option(help="Of everything that is drawn at random.")] = 0,
    ) -> None:
        """Wrap a kernel machine and a linear model, and show what early exit does to them."""
        from wald.demo import DemoError, run_demo

        try:
            run_demo(data, output, jobs, seed, rich.console.Console())
        except DemoError as error:
            typer.echo(f"wald demo: {error}", err=True)
            raise typer.Exit(2) from None

    return application


if __name__ == "__main__":
    main()
