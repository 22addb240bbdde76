"""The command line ``wald``. It needs the extra ``cli``, and loads it and all else when it is called."""

# No postponed annotations here: typer reads those of functions that are made where typer is loaded.

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from .utils.install import install

if TYPE_CHECKING:
    import typer

_EXTRA = ("typer", "rich")
#: Signals that end a command quietly; not all systems have all of them.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


def main() -> None:
    """Run the command line; the entry point of the script ``wald``."""
    _end_quietly()
    try:
        application = build()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        print(
            f"wald: the command line needs {error.name}, which is not installed: {install('cli')}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    try:
        try:
            application()
        finally:
            sys.stdout.flush()
    except OSError as error:
        from .commands.answers import give_up_stdout

        raise SystemExit(give_up_stdout("wald", error)) from None


def _end_quietly() -> None:
    """Let a signal end the process at once: no traceback wherever it comes, and no half-written file."""
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, _end)


def _end(number: int, frame: Any) -> None:
    files = sys.modules.get("wald.utils.files")  # where it was never loaded, nothing is being written
    discard = getattr(files, "discard_unfinished", None)  # not while it is being loaded
    if discard is not None:
        discard()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")  # the cursor, which a progress bar hides
        words = getattr(files, "last_words", None)
        if words is not None:
            os.write(2, f"{words()}\n".encode())
    os._exit(128 + number)


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

    from .commands import bench, demo, explain, fit, inspect, parse, predict, report, serve, train_parser

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

        Exit codes: 0 done; 1 the answer is no, or a promise does not hold; 2 something to put right; 3 done but for
        what --skip-bad left out. 128 and more: ended by a signal (130: Ctrl-C).
        """

    for command in (
        fit.fit,
        predict.predict,
        inspect.inspect,
        explain.explain,
        report.report,
        serve.serve,
        bench.bench,
        demo.demo,
        train_parser.train_parser,
        parse.parse,
    ):
        application.command()(command)
    return application


if __name__ == "__main__":
    main()
