"""pytest fixtures: a cluster of one's own per test, or one that a whole run shares.

Registered as a pytest plugin by installing Drumbeat. Imports nothing of it until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from drumbeat.testing.cluster import Cluster

MARKER = "drumbeat"
FRESH, SHARED = "drumbeat_cluster", "drumbeat_session_cluster"
_OPTIONS = ("config", "topics", "auto_create_topics", "on_disk")
EVENTS_SHOWN_MAX = 50

_shared_key = pytest.StashKey["Cluster"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "drumbeat_config", "broker keys of every cluster, a key=value per line", type="linelist"
    )
    parser.addini(
        "drumbeat_topics", "topics of every cluster, a name or name=partitions per line", "linelist"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(config={{}}, topics={{}}, auto_create_topics=None, on_disk=False): "
        f"what the {FRESH} of this test is like",
    )


# -- fixtures ------------------------------------------------------------------------------------


@pytest.fixture
def drumbeat_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster that no other test sees; `@pytest.mark.drumbeat(...)` says what it is like."""
    from drumbeat.testing.cluster import Cluster  # noqa: PLC0415 - nobody pays who does not use it

    asked = _asked(request.node)
    on_disk = asked.pop("on_disk", False)
    data = request.getfixturevalue("tmp_path") / "drumbeat" if on_disk else None
    with Cluster(**_with_defaults(request.config, asked), data=data) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def drumbeat_session_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One cluster for the whole run; under pytest-xdist, one for each worker.

    Tests stay out of each other's way with `new_topic` and `new_group`. Faults end with their test.
    """
    from drumbeat.testing.cluster import Cluster  # noqa: PLC0415 - nobody pays who does not use it

    with Cluster(**_with_defaults(request.config, {})) as cluster:
        request.config.stash[_shared_key] = cluster
        try:
            yield cluster
        finally:
            del request.config.stash[_shared_key]


# -- what is around a test -----------------------------------------------------------------------


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A marker that would have no effect is told."""
    names = getattr(item, "fixturenames", ())
    if SHARED in names and FRESH not in names and item.get_closest_marker(MARKER) is not None:
        pytest.fail(
            f"@pytest.mark.{MARKER} is for {FRESH}; {SHARED} is the same for all tests: "
            "set drumbeat_config and drumbeat_topics in the ini file, or use its new_topic",
            pytrace=False,
        )


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What a test did to the shared cluster ends with the test."""
    shared = item.config.stash.get(_shared_key, None)
    if shared is not None:
        shared.resume()
        shared.clear_faults()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed shows what happened to the groups of its own cluster."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get(FRESH)
    if report.when == "call" and report.failed and cluster is not None:
        cluster.resume()
        events = cluster.events()[-EVENTS_SHOWN_MAX:]
        if events:
            report.sections.append(("Drumbeat: group events", "\n".join(map(str, events))))
    return report


# -- markers and ini options ---------------------------------------------------------------------


def _asked(item: pytest.Item) -> dict[str, Any]:
    """Of all markers on the test, its class and its module, the nearest says it."""
    asked: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(MARKER))):
        unknown = set(marker.kwargs) - set(_OPTIONS)
        if unknown or marker.args:
            pytest.fail(
                f"@pytest.mark.{MARKER} takes {', '.join(_OPTIONS)} by name, "
                f"not {', '.join(sorted(unknown)) or marker.args}",
                pytrace=False,
            )
        asked |= marker.kwargs
    return asked


def _with_defaults(config: pytest.Config, asked: dict[str, Any]) -> dict[str, Any]:
    """What the ini file says, and what the marker adds or changes."""
    from drumbeat.testing.options import new_topics  # noqa: PLC0415 - as above

    keys = dict(_split(line) for line in config.getini("drumbeat_config"))
    topics = {
        name: int(partitions or 1)
        for name, partitions in map(_split, config.getini("drumbeat_topics"))
    }
    return {
        **asked,
        "config": {**keys, **asked.get("config", {})},
        "topics": {**topics, **new_topics(asked.get("topics", ()))},
    }


def _split(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.strip()
