from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from hmas.engine.link.curve import (
    CurveError,
    CurveKeys,
    admit_known_client,
    create_keys,
    load_keys,
    main,
    secure_client,
    secure_server,
)


@pytest.fixture
def keys(tmp_path: Path) -> CurveKeys:
    return create_keys(tmp_path / "keys")


@pytest.fixture
def server(keys: CurveKeys) -> Iterator[tuple[zmq.Socket[bytes], str]]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    stop = admit_known_client(context, keys)
    socket = context.socket(zmq.REP)
    secure_server(socket, keys)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    yield socket, f"tcp://127.0.0.1:{port}"
    stop()
    context.destroy(linger=0)


def exchange(server: tuple[zmq.Socket[bytes], str], client_keys: CurveKeys | None) -> bool:
    socket, address = server
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    client = context.socket(zmq.REQ)
    if client_keys is not None:
        secure_client(client, client_keys)
    client.connect(address)
    client.send(b"ping")
    arrived = bool(socket.poll(500))
    if arrived:
        socket.send(socket.recv())
        arrived = bool(client.poll(2000)) and client.recv() == b"ping"
    context.destroy(linger=0)
    return arrived


def test_the_known_client_gets_through(
    server: tuple[zmq.Socket[bytes], str], keys: CurveKeys
) -> None:
    assert exchange(server, keys)


def test_a_client_without_keys_or_with_others_does_not(
    server: tuple[zmq.Socket[bytes], str], keys: CurveKeys, tmp_path: Path
) -> None:
    other = create_keys(tmp_path / "other")
    stranger = CurveKeys(
        server_public=keys.server_public,
        client_public=other.client_public,
        client_secret=other.client_secret,
    )
    assert not exchange(server, None)
    assert not exchange(server, stranger)


def test_each_side_needs_only_its_own_secret(keys: CurveKeys, tmp_path: Path) -> None:
    (tmp_path / "keys" / "server.key_secret").unlink()
    daemon_side = load_keys(tmp_path / "keys")
    assert daemon_side.client_secret == keys.client_secret
    assert daemon_side.server_secret is None
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    with context.socket(zmq.REP) as socket, pytest.raises(CurveError, match=r"server\.key_secret"):
        secure_server(socket, daemon_side)
    context.term()


def test_an_engine_cannot_pose_as_the_client(keys: CurveKeys) -> None:
    engine_side = CurveKeys(
        server_public=keys.server_public,
        client_public=keys.client_public,
        server_secret=keys.server_secret,
    )
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    with context.socket(zmq.REQ) as socket, pytest.raises(CurveError, match=r"client\.key_secret"):
        secure_client(socket, engine_side)
    context.term()


def test_secrets_are_private_and_never_shown(keys: CurveKeys, tmp_path: Path) -> None:
    secret = tmp_path / "keys" / "client.key_secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert keys.client_secret is not None
    assert keys.client_secret.decode() not in repr(keys)
    secret.chmod(0o644)
    with pytest.raises(CurveError, match="chmod 600"):
        load_keys(tmp_path / "keys")


def test_missing_and_broken_files_are_named(keys: CurveKeys, tmp_path: Path) -> None:
    with pytest.raises(CurveError, match=r"server\.key"):
        load_keys(tmp_path / "nowhere")
    (tmp_path / "keys" / "server.key_secret").write_text("garbage\n")
    (tmp_path / "keys" / "server.key_secret").chmod(0o600)
    with pytest.raises(CurveError, match="not a ZeroMQ secret"):
        load_keys(tmp_path / "keys")


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new")]) == 0
    assert load_keys(tmp_path / "new").server_secret is not None
    assert main([str(tmp_path / "new")]) == 1
    assert "already holds" in capsys.readouterr().err
    assert main([]) == 2
