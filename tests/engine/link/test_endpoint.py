import socket as sockets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
import zmq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hmas.engine.directive import (
    ControlReply,
    ControlRequest,
    Describe,
    Directive,
    DirectiveReply,
    EngineDescription,
    EngineLimits,
)
from hmas.engine.events import EventBatch, RequestFirstToken
from hmas.engine.link.config import LinkConfig, LinkConfigError
from hmas.engine.link.curve import create_keys
from hmas.engine.link.endpoint import ControlEndpoint
from hmas.engine.link.sockets import connect_private
from hmas.engine.wire import decode_batch, decode_reply, encode

LIMITS = EngineLimits(
    max_num_seqs=8, max_num_batched_tokens=64, kv_blocks=16, block_size=32, max_model_len=128
)


def directive(version: int) -> Directive:
    return Directive(
        engine_id="e", version=version, issued_at_s=0.0, ttl_s=1.0, topology="edf", bypass=True
    )


class RecordingEngine:
    """A handler that acknowledges everything and remembers the last directive."""

    def __init__(self) -> None:
        self.active: Directive | None = None

    def __call__(self, request: ControlRequest) -> ControlReply:
        if isinstance(request, Describe):
            return EngineDescription(
                engine_id="e",
                boot_id="boot",
                kind="simulator",
                kind_version="1",
                model="m",
                rank=0,
                limits=LIMITS,
                topologies=["edf"],
                active=self.active,
                lease_expired=False,
            )
        if request.version == 13:
            raise RuntimeError("unlucky")
        self.active = request
        return DirectiveReply(
            engine_id="e",
            boot_id="boot",
            accepted=True,
            active_version=request.version,
            topology=request.topology,
            bypass=request.bypass,
            step=4,
        )


@contextmanager
def client(config: LinkConfig, kind: int) -> Iterator[zmq.Socket[bytes]]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(kind)
    endpoint = config.events_endpoint if kind == zmq.SUB else config.control_endpoint
    if kind == zmq.SUB:
        socket.subscribe(b"")
    connect_private(socket, endpoint, config.curve)
    yield socket
    context.destroy(linger=0)


def ask(socket: zmq.Socket[bytes], payload: bytes) -> ControlReply:
    socket.send(payload)
    assert socket.poll(5000), "no answer"
    return decode_reply(socket.recv())


def next_batch(socket: zmq.Socket[bytes], provoke: Callable[[], None]) -> EventBatch:
    """The first batch that arrives while ``provoke`` publishes (subscriptions are lazy)."""
    for _ in range(100):
        provoke()
        if socket.poll(50):
            return decode_batch(socket.recv())
    raise AssertionError("no batch within 5 s")


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[ControlEndpoint]:
    endpoint = ControlEndpoint(
        LinkConfig.local("e", tmp_path / "run"), RecordingEngine(), boot_id="boot", flush_s=0.01
    )
    endpoint.start()
    yield endpoint
    endpoint.close()


def test_a_directive_is_acknowledged_and_described(endpoint: ControlEndpoint) -> None:
    with client(endpoint.config, zmq.REQ) as socket:
        reply = ask(socket, encode(directive(3)))
        assert isinstance(reply, DirectiveReply)
        assert reply.accepted
        assert reply.active_version == 3
        description = ask(socket, encode(Describe()))
        assert isinstance(description, EngineDescription)
        assert description.active == directive(3)


def test_a_failing_handler_is_a_refusal_with_what_is_active(endpoint: ControlEndpoint) -> None:
    with client(endpoint.config, zmq.REQ) as socket:
        ask(socket, encode(directive(3)))
        reply = ask(socket, encode(directive(13)))
    assert isinstance(reply, DirectiveReply)
    assert not reply.accepted
    assert "unlucky" in reply.reason
    assert (reply.active_version, reply.topology, reply.bypass) == (3, "edf", True)
    assert endpoint.failed == 1


def test_more_than_one_part_is_refused(endpoint: ControlEndpoint) -> None:
    with client(endpoint.config, zmq.REQ) as socket:
        socket.send_multipart([b"a", b"b"])
        assert socket.poll(5000)
        reply = decode_reply(socket.recv())
    assert isinstance(reply, DirectiveReply)
    assert "one message part" in reply.reason


def mutations() -> st.SearchStrategy[bytes]:
    valid = encode(directive(3))
    cut = st.integers(0, len(valid)).map(lambda at: valid[:at])
    spliced = st.tuples(st.integers(0, len(valid)), st.binary(max_size=8)).map(
        lambda edit: valid[: edit[0]] + edit[1] + valid[edit[0] :]
    )
    json_values = st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ).map(msgspec.json.encode)
    fields = st.fixed_dictionaries(
        {"type": st.sampled_from(["directive", "describe", "reply", 7])},
        optional={
            "version": st.integers(-(2**70), 2**70),
            "ttl_s": st.floats(),
            "topology": st.text(),
            "controls": st.dictionaries(st.text(), st.integers()),
        },
    ).map(msgspec.json.encode)
    return st.binary(max_size=64) | cut | spliced | json_values | fields


def test_no_message_stops_the_link(endpoint: ControlEndpoint) -> None:
    with client(endpoint.config, zmq.REQ) as socket:

        @settings(max_examples=300, deadline=None)
        @given(mutations())
        @example(b'{"type":"dire\xaective"}')
        def check(payload: bytes) -> None:
            reply = ask(socket, payload)
            if isinstance(reply, DirectiveReply) and not reply.accepted:
                assert reply.reason

        check()
        assert isinstance(ask(socket, encode(Describe())), EngineDescription)
    assert endpoint.refused > 0


def test_events_arrive_in_numbered_batches(endpoint: ControlEndpoint) -> None:
    event = RequestFirstToken(at_s=1.0, request_id="r", ttft_s=0.5)
    with client(endpoint.config, zmq.SUB) as socket:
        first = next_batch(socket, lambda: endpoint.publish(event))
        second = next_batch(socket, lambda: endpoint.publish(event))
    assert first.source == "e"
    assert first.boot_id == "boot"
    assert first.events[0] == event
    assert second.sequence == first.sequence + 1


def test_what_waits_is_sent_before_it_closes(tmp_path: Path) -> None:
    endpoint = ControlEndpoint(LinkConfig.local("e", tmp_path / "run"), RecordingEngine())
    endpoint.start()
    event = RequestFirstToken(at_s=1.0, request_id="last", ttft_s=0.5)
    with client(endpoint.config, zmq.SUB) as socket:
        next_batch(socket, lambda: endpoint.publish(event))
        while socket.poll(0):
            socket.recv()
        endpoint.publish(event)
        endpoint.close()
        assert socket.poll(5000)
        assert decode_batch(socket.recv()).events[-1] == event
    endpoint.close()


def test_a_second_engine_with_the_same_id_is_refused(endpoint: ControlEndpoint) -> None:
    rival = ControlEndpoint(endpoint.config, RecordingEngine())
    with pytest.raises(LinkConfigError, match="HMAS_ENGINE_ID"):
        rival.start()
    with client(endpoint.config, zmq.REQ) as socket:
        assert isinstance(ask(socket, encode(Describe())), EngineDescription)


def test_an_endpoint_starts_once_and_again_after_closing(tmp_path: Path) -> None:
    config = LinkConfig.local("e", tmp_path / "run")
    for _ in range(2):
        endpoint = ControlEndpoint(config, RecordingEngine())
        endpoint.start()
        with pytest.raises(RuntimeError, match="already started"):
            endpoint.start()
        with client(config, zmq.REQ) as socket:
            assert isinstance(ask(socket, encode(Describe())), EngineDescription)
        endpoint.close()


def free_port() -> int:
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_over_tcp_with_keys(tmp_path: Path) -> None:
    config = LinkConfig(
        engine_id="e",
        control_endpoint=f"tcp://127.0.0.1:{free_port()}",
        events_endpoint=f"tcp://127.0.0.1:{free_port()}",
        curve=create_keys(tmp_path / "keys"),
    )
    endpoint = ControlEndpoint(config, RecordingEngine(), flush_s=0.01)
    endpoint.start()
    event = RequestFirstToken(at_s=1.0, request_id="r", ttft_s=0.5)
    with client(config, zmq.REQ) as control, client(config, zmq.SUB) as events:
        assert isinstance(ask(control, encode(Describe())), EngineDescription)
        assert next_batch(events, lambda: endpoint.publish(event)).events[0] == event
    endpoint.close()


def test_ticks_while_idle_and_survives_a_failing_one(tmp_path: Path) -> None:
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(len(ticks))
        endpoint.publish(RequestFirstToken(at_s=0.0, request_id=str(ticks[-1]), ttft_s=0.0))
        if len(ticks) == 1:
            raise RuntimeError("first tick")

    endpoint = ControlEndpoint(
        LinkConfig.local("e", tmp_path / "run"), RecordingEngine(), tick=tick, flush_s=0.01
    )
    endpoint.start()
    with client(endpoint.config, zmq.SUB) as socket:
        assert next_batch(socket, lambda: None).events
    endpoint.close()
    assert endpoint.failed == 1
    assert len(ticks) > 1
