"""``wald serve``: a web service that answers with a saved model."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from ..utils.install import install
from . import options
from .answers import as_user_error, handling_errors
from .errors import UserError
from .models import load_served

if TYPE_CHECKING:
    from ..early_exit.estimators import EarlyExit


def serve(
    file: options.FileArgument,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for a free one.")] = 8000,
    jobs: options.Jobs = 1,
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Largest body of a request.")] = 16 << 20,
    max_rows: Annotated[int, typer.Option(min=1, metavar="N", help="Most rows of a request.")] = 100_000,
    audit_rate: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of the rows that the full model labels, too; see /metrics."),
    ] = None,
    full_if_broken: Annotated[
        bool, typer.Option("--full-if-broken", help="Evaluate rows in full once audits refute the promise.")
    ] = False,
    model: options.Model = None,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    debug: options.Debug = False,
) -> None:
    """Serve FILE: POST /predict, GET /certificate, GET /metrics and GET /health.

    SIGTERM stops it after the last answer. SIGHUP loads FILE and MODEL anew, while the old model goes on answering.
    """
    with handling_errors("serve", debug):
        try:
            import uvicorn

            from ..serving.server import GracefulServer
        except ImportError as error:
            raise UserError(f"needs {error.name}, which is not installed: {install('serve')}") from None
        if full_if_broken and audit_rate is None:
            raise UserError("--full-if-broken needs audits: --audit-rate 0.01, for example.")
        threads = options.threads(jobs)

        def load() -> EarlyExit:
            return load_served(file, threads, model, trust_pickle, trust_type or ())

        with as_user_error(str(file), OSError, ValueError, TypeError, ImportError):
            from ..serving.app import create_app

            service = create_app(
                load,
                max_body=max_body,
                max_rows=max_rows,
                audit_rate=audit_rate,
                on_broken="full" if full_if_broken else "warn",
            )
        config = uvicorn.Config(
            service,
            host=host,
            port=port,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            lifespan="off",
            interface="asgi3",
            timeout_graceful_shutdown=30,
        )
        server = GracefulServer(config)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn stops at them, and raises them again at its end
            signal.signal(number, signal.SIG_IGN)
        server.run()
        if not server.started:
            raise UserError(f"{host}:{port} cannot be listened at.")
