"""The development server is put together as asked."""

from __future__ import annotations

from hmas.daemon.admin.demo import build, parse


def test_it_listens_where_it_is_told() -> None:
    chosen = parse(["--port", "0", "--engines", "a", "b", "--unreachable", "b"])
    server = build(chosen, "a-very-long-secret-token")
    assert server.start().startswith("http://127.0.0.1:")
    server.close()
