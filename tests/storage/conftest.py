"""Stores for the contract suite, and a private PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from hmas.storage.connect import MEMORY_URL, open_store
from hmas.storage.store import Store
from hmas.storage.tables import Row
from tests.storage.postgres import Cluster, running_cluster, why_unavailable

POSTGRES = pytest.param("postgresql", marks=pytest.mark.postgres)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    reason = why_unavailable()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must test PostgreSQL: {reason}")
        pytest.skip(reason)
    with running_cluster() as running:
        yield running


@pytest.fixture(scope="session")
def migrated_postgres_url(cluster: Cluster) -> str:
    """One database for all contract tests: emptied before each."""
    url = cluster.new_database()
    open_store(url).close()
    return url


@pytest.fixture(params=["sqlite", POSTGRES])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/hmas.db"
    running: Cluster = request.getfixturevalue("cluster")
    return running.new_database()


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    opened = open_store(_store_url(request, tmp_path))
    yield opened
    opened.close()


def _store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return MEMORY_URL
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/hmas.db"
    url: str = request.getfixturevalue("migrated_postgres_url")
    with psycopg.connect(url) as connection:
        connection.execute(f"TRUNCATE {', '.join(Row.metadata.tables)}".encode())
    return url
