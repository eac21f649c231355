"""CURVE keys: what a control link over TCP must have before it opens.

One directory holds two key pairs in ZeroMQ's certificate format. ``server`` belongs to the
side that binds (the engine), ``client`` to the side that connects (the daemon); each machine
needs its own secret and the other side's public key, nothing more::

    python -m hmas.engine.link.curve DIRECTORY
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator

ROLES: Final = ("server", "client")


class CurveError(ValueError):
    """A key file is missing, unreadable, or open to other users."""


@dataclass(frozen=True, slots=True)
class CurveKeys:
    """Z85-encoded keys; a secret that this machine does not hold is None."""

    server_public: bytes
    client_public: bytes
    server_secret: bytes | None = field(default=None, repr=False)
    client_secret: bytes | None = field(default=None, repr=False)


def _public_key(directory: Path, role: str) -> bytes:
    path = directory / f"{role}.key"
    try:
        return zmq.auth.load_certificate(path)[0]
    except (OSError, ValueError) as error:
        raise CurveError(
            f"{path}: no public key of the {role} side ({error}); "
            f"create both pairs with: python -m hmas.engine.link.curve {directory}"
        ) from error


def _secret_key(directory: Path, role: str) -> bytes | None:
    path = directory / f"{role}.key_secret"
    if not path.exists():
        return None
    if path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
        raise CurveError(f"{path}: other users can read this secret key; fix: chmod 600 {path}")
    try:
        return zmq.auth.load_certificate(path)[1]
    except (OSError, ValueError) as error:
        raise CurveError(f"{path}: not a ZeroMQ secret certificate ({error})") from error


def load_keys(directory: Path) -> CurveKeys:
    """Keys of ``directory``. Raises :class:`CurveError` naming the file and the fix."""
    return CurveKeys(
        server_public=_public_key(directory, "server"),
        client_public=_public_key(directory, "client"),
        server_secret=_secret_key(directory, "server"),
        client_secret=_secret_key(directory, "client"),
    )


def create_keys(directory: Path) -> CurveKeys:
    """Both key pairs, fresh, with secrets readable by their owner only.

    Raises :class:`CurveError` when there are keys already: overwriting them would cut links.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for role in ROLES:
        if (directory / f"{role}.key_secret").exists():
            raise CurveError(f"{directory} already holds {role}.key_secret; remove it first")
    for role in ROLES:
        zmq.auth.create_certificates(directory, role)
        (directory / f"{role}.key_secret").chmod(0o600)
    return load_keys(directory)


def secure_server(socket: zmq.Socket[Any], keys: CurveKeys) -> None:
    """Make ``socket``, before it binds, speak CURVE as the server."""
    if keys.server_secret is None:
        raise CurveError("this side binds and needs server.key_secret in the CURVE directory")
    socket.curve_publickey = keys.server_public
    socket.curve_secretkey = keys.server_secret
    socket.curve_server = True


def secure_client(socket: zmq.Socket[Any], keys: CurveKeys) -> None:
    """Make ``socket``, before it connects, speak CURVE as the client."""
    if keys.client_secret is None:
        raise CurveError("this side connects and needs client.key_secret in the CURVE directory")
    socket.curve_publickey = keys.client_public
    socket.curve_secretkey = keys.client_secret
    socket.curve_serverkey = keys.server_public


@dataclass(frozen=True, slots=True)
class _KnownClient:
    """ZAP credentials provider: exactly one client key may connect."""

    public_key: bytes

    def callback(self, domain: str, key: bytes) -> bool:
        return key == self.public_key


def admit_known_client(context: zmq.Context[Any], keys: CurveKeys) -> Callable[[], None]:
    """Refuse, on every CURVE server socket of ``context``, clients without the known key.

    Encryption alone would let in whoever knows the server's public key. Call it before the
    sockets bind, and the returned function before the context terminates.
    """
    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    authenticator.configure_curve_callback(
        "*", credentials_provider=_KnownClient(keys.client_public)
    )
    return authenticator.stop


def main(arguments: list[str]) -> int:
    """Create key files from the command line."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m hmas.engine.link.curve DIRECTORY\n")
        return 2
    try:
        create_keys(Path(arguments[0]))
    except (CurveError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{arguments[0]}: server.key[_secret] client.key[_secret]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
