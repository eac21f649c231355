import os
import socket as sockets
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from hmas.engine.link.config import LinkConfigError
from hmas.engine.link.curve import create_keys
from hmas.engine.link.sockets import bind_private, claim, connect_private, private_directory


@pytest.fixture
def context() -> Iterator[zmq.Context[zmq.Socket[bytes]]]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    yield context
    context.destroy(linger=0)


@pytest.fixture
def reply_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    return context.socket(zmq.REP)


def test_socket_files_and_their_directory_are_private(
    reply_socket: zmq.Socket[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "run" / "x.control"
    bind_private(reply_socket, f"ipc://{path}", None, "NAME")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_directory_open_to_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(LinkConfigError, match="chmod 700"):
        private_directory(tmp_path)


def test_a_file_has_one_owner_until_it_lets_go(tmp_path: Path) -> None:
    descriptor = claim(tmp_path / "x")
    with pytest.raises(LinkConfigError, match="HMAS_ENGINE_ID"):
        claim(tmp_path / "x")
    os.close(descriptor)
    os.close(claim(tmp_path / "x"))


def test_tcp_without_keys_is_refused_on_both_sides(reply_socket: zmq.Socket[bytes]) -> None:
    with pytest.raises(LinkConfigError, match=r"NAME .* CURVE"):
        bind_private(reply_socket, "tcp://127.0.0.1:0", None, "NAME")
    with pytest.raises(LinkConfigError, match="CURVE"):
        connect_private(reply_socket, "tcp://127.0.0.1:1", None)


def test_a_taken_address_is_named(reply_socket: zmq.Socket[bytes], tmp_path: Path) -> None:
    keys = create_keys(tmp_path / "keys")
    with sockets.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(LinkConfigError, match=r"NAME .* cannot listen"):
            bind_private(reply_socket, endpoint, keys, "NAME")
