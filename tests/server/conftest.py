"""Nodes to be mistreated, on both event loops that a node may run on."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
import uvloop

from drumbeat.testing import Cluster
from support.wire import Wire

LOOPS = {"asyncio": asyncio.DefaultEventLoopPolicy, "uvloop": uvloop.EventLoopPolicy}


@contextmanager
def cluster_on(
    loop: str, settings: Mapping[str, str] | None = None, *, data: str | None = None
) -> Iterator[Cluster]:
    cluster = Cluster(settings, data=data)
    asyncio.set_event_loop_policy(LOOPS[loop]())
    try:
        cluster.start()
    finally:
        asyncio.set_event_loop_policy(None)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module", params=LOOPS)
def loop(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def cluster(loop) -> Iterator[Cluster]:
    """One node per module and loop, in memory."""
    with cluster_on(loop) as running:
        yield running


@pytest.fixture
def start(loop) -> Iterator[Callable[..., Cluster]]:
    """Start a node of the test's own, with the given settings, in memory unless told where."""
    started: list[Cluster] = []

    def start_cluster(
        settings: Mapping[str, str] | None = None, *, data: str | None = None
    ) -> Cluster:
        opened = cluster_on(loop, settings, data=data)
        running = opened.__enter__()
        started.append(opened)
        return running

    yield start_cluster
    for opened in started:
        opened.__exit__(None, None, None)


@pytest.fixture
def wire(cluster) -> Iterator[Wire]:
    """A well-behaved client of the same node."""
    with Wire(cluster.bootstrap_servers) as connection:
        yield connection
