"""Drumbeat for other people's tests: a cluster in the test's own process, and faults on demand.

Names are imported when they are first used: a test run that has the pytest plugin installed and
does not use it must not pay for the server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drumbeat.core.events import GroupEventType, Reason
    from drumbeat.log.port import TopicPartition
    from drumbeat.testing.async_cluster import AsyncCluster
    from drumbeat.testing.cluster import Cluster
    from drumbeat.testing.container import DrumbeatContainer
    from drumbeat.testing.faults import Fault
    from drumbeat.testing.observed import Event, Group, Member, SeenRequest
    from drumbeat.testing.options import NewTopic
    from drumbeat.testing.watchers import Recording

__all__ = [
    "AsyncCluster",
    "Cluster",
    "DrumbeatContainer",
    "Event",
    "Fault",
    "Group",
    "GroupEventType",
    "Member",
    "NewTopic",
    "Reason",
    "Recording",
    "SeenRequest",
    "TopicPartition",
]

_MODULES = {
    "AsyncCluster": "drumbeat.testing.async_cluster",
    "Cluster": "drumbeat.testing.cluster",
    "DrumbeatContainer": "drumbeat.testing.container",
    "Event": "drumbeat.testing.observed",
    "Fault": "drumbeat.testing.faults",
    "Group": "drumbeat.testing.observed",
    "GroupEventType": "drumbeat.core.events",
    "Member": "drumbeat.testing.observed",
    "NewTopic": "drumbeat.testing.options",
    "Reason": "drumbeat.core.events",
    "Recording": "drumbeat.testing.watchers",
    "SeenRequest": "drumbeat.testing.observed",
    "TopicPartition": "drumbeat.log.port",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
