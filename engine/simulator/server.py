"""Serve a simulated engine: ``python -m hmas.engine.simulator.server PROFILE``.

The same as ``hmas engine --simulate PROFILE``. Needs aiohttp (``pip install hmas[server]``).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from hmas.engine.link.config import LinkConfig, LinkConfigError
from hmas.engine.simulator.app import DEFAULT_PORT, ServerError, ServerOptions, SimulatorServer
from hmas.engine.simulator.profile import ProfileError, load_profile, profile_names


class EngineFailedError(RuntimeError):
    """The simulated engine stopped by itself."""


async def serve(options: ServerOptions) -> None:
    """Until SIGINT or SIGTERM; says on stdout where it listens.

    Raises:
        EngineFailedError: the engine's loop broke.
        OSError: the port is taken.
        LinkConfigError: the control link's address is.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with SimulatorServer(options) as server:
        mode = "stock vLLM scheduling" if options.stock else "H-MAS scheduling"
        print(f"simulating {options.profile.name} ({mode}) on {server.url}", flush=True)
        waits = [loop.create_task(event.wait()) for event in (stop, server.failed)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if server.failed.is_set():
            raise EngineFailedError("the engine's loop failed; see the log")


def run(options: ServerOptions) -> None:
    """:func:`serve` in a loop of its own, uvloop's where it is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(options))
    else:
        uvloop.run(serve(options))


def options_of(arguments: argparse.Namespace) -> ServerOptions:
    """Raises ProfileError, LinkConfigError or ServerError."""
    environ = dict(os.environ)
    if arguments.engine_id:
        environ["HMAS_ENGINE_ID"] = arguments.engine_id
    return ServerOptions(
        profile=load_profile(arguments.profile),
        host=arguments.host,
        port=arguments.port,
        link=None if arguments.no_link else LinkConfig.from_environment(environ),
        speed=arguments.speed,
        seed=arguments.seed,
        api_key=arguments.api_key or environ.get("HMAS_ENGINE_API_KEY"),
        stock=arguments.stock,
        model=arguments.model,
    )


def parser() -> argparse.ArgumentParser:
    names = ", ".join(profile_names())
    parser = argparse.ArgumentParser(
        prog="hmas engine --simulate",
        description="Serve a simulated engine with an OpenAI-compatible API.",
    )
    parser.add_argument("profile", help=f"one of {names}, or the path of a profile file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--engine-id", help="default: HMAS_ENGINE_ID, else engine0")
    parser.add_argument("--model", help="served model name (default: the profile's)")
    parser.add_argument("--speed", type=float, default=1.0, help="times faster than the hardware")
    parser.add_argument("--seed", type=int, default=0, help="of output lengths that are not given")
    parser.add_argument("--api-key", help="default: HMAS_ENGINE_API_KEY")
    parser.add_argument("--stock", action="store_true", help="plain vLLM, takes no directives")
    parser.add_argument("--no-link", action="store_true", help="without the control link")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        run(options_of(arguments))
    except (ProfileError, LinkConfigError, ServerError) as error:
        print(f"engine: {error}", file=sys.stderr)
        return 2
    except (OSError, EngineFailedError) as error:
        print(f"engine: port {arguments.port}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
