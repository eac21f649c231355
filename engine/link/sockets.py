"""Bound sockets of the control link: private files, or CURVE over TCP."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from typing import Any, Final

import zmq

from hmas.engine.link.config import LinkConfigError
from hmas.engine.link.curve import CurveKeys, secure_client, secure_server

_IPC: Final = "ipc://"


def is_tcp(endpoint: str) -> bool:
    """Whether ``endpoint`` leaves the machine's own files, and so needs CURVE."""
    return not endpoint.startswith(_IPC)


def ipc_path(endpoint: str) -> Path:
    """The socket file of an ``ipc://`` endpoint."""
    return Path(endpoint.removeprefix(_IPC))


def private_directory(path: Path) -> None:
    """Create ``path`` with mode 0700, or check that nobody else can put files into it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat()
    if status.st_uid != os.getuid():
        raise LinkConfigError(f"{path} belongs to another user; set HMAS_RUNTIME_DIR")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LinkConfigError(f"{path}: other users can write here; fix: chmod 700 {path}")


def claim(path: Path) -> int:
    """Own ``path`` until the returned descriptor closes.

    ZeroMQ would silently take over the socket file of a live engine with the same id.
    """
    private_directory(path.parent)
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise LinkConfigError(
            f"{path} is in use by another live process; give each its own HMAS_ENGINE_ID"
        ) from error
    return descriptor


def bind_private(
    socket: zmq.Socket[Any], endpoint: str, curve: CurveKeys | None, name: str
) -> None:
    """Bind ``socket``; socket files get mode 0600, TCP is CURVE only.

    Raises:
        LinkConfigError: the address is taken or the directory is not ours; names ``name``.
    """
    if is_tcp(endpoint):
        if curve is None:
            raise LinkConfigError(f"{name} {endpoint}: TCP needs CURVE keys")
        secure_server(socket, curve)
    else:
        private_directory(ipc_path(endpoint).parent)
    try:
        socket.bind(endpoint)
    except zmq.ZMQError as error:
        raise LinkConfigError(f"{name} {endpoint}: cannot listen ({error})") from error
    if not is_tcp(endpoint):
        ipc_path(endpoint).chmod(0o600)


def connect_private(socket: zmq.Socket[Any], endpoint: str, curve: CurveKeys | None) -> None:
    """Connect ``socket`` to a peer bound with :func:`bind_private`."""
    if is_tcp(endpoint):
        if curve is None:
            raise LinkConfigError(f"{endpoint}: TCP needs CURVE keys")
        secure_client(socket, curve)
    socket.connect(endpoint)
