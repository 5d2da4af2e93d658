"""testcontainers' `KafkaContainer`, without Docker: the same calls, a node in this process.

What describes a container or an image means nothing here and is taken without complaint. What
describes a broker is applied: the KAFKA_ variables of the image are configuration keys.
"""

from __future__ import annotations

from typing import Any, Self

from drumbeat.runtime.config.broker import BROKER_KEYS
from drumbeat.testing.cluster import Cluster

_PREFIX = "KAFKA_"
# The container's own business: where it listens and stores, and which part of a cluster it plays.
_OF_THE_CONTAINER = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.voters",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "node.id",
        "process.roles",
    }
)


class DrumbeatContainer:
    """`with DrumbeatContainer() as kafka: kafka.get_bootstrap_server()`.

    `image` and `port` are those of a container: no image is needed, and the port that clients use
    is a free one of this machine, as with Docker. `cluster` has faults and assertions.
    """

    def __init__(
        self,
        image: str = "",
        port: int = 9093,
        env: dict[str, str] | None = None,
        **_of_docker: Any,
    ) -> None:
        self.image = image
        self.port = port
        self.env = dict(env or {})
        self._cluster: Cluster | None = None

    # -- life ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self, timeout: float = 30) -> Self:
        """`timeout` is how long one would wait for a container; this takes milliseconds."""
        cluster = Cluster(broker_keys(self.env))
        cluster.start()
        self._cluster = cluster
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """The data are gone afterwards, as with a container that is removed."""
        if self._cluster is not None:
            self._cluster.stop()
            self._cluster = None

    @property
    def cluster(self) -> Cluster:
        if self._cluster is None:
            raise RuntimeError("the container is not running; start() it first")
        return self._cluster

    # -- where it is -----------------------------------------------------------------------------

    def get_bootstrap_server(self) -> str:
        return self.cluster.bootstrap_servers

    def get_container_host_ip(self) -> str:
        return self.get_bootstrap_server().rpartition(":")[0]

    def get_exposed_port(self, port: int) -> int:
        """The port on this machine, whichever of the container's ports is asked for."""
        return int(self.get_bootstrap_server().rpartition(":")[2])

    # -- set-up ----------------------------------------------------------------------------------

    def with_env(self, key: str, value: str) -> Self:
        self.env[key] = str(value)
        return self

    def with_envs(self, **variables: str) -> Self:
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_kraft(self) -> Self:
        """There is no ZooKeeper to go without."""
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:
        """A cluster in memory has an id of its own."""
        return self

    def _of_docker_only(self, *_arguments: Any, **_named: Any) -> Self:
        return self

    with_bind_ports = with_command = with_exposed_ports = _of_docker_only
    with_kwargs = with_name = with_network = with_network_aliases = _of_docker_only
    with_tmpfs_mount = with_volume_mapping = waiting_for = _of_docker_only


def broker_keys(env: dict[str, str]) -> dict[str, str]:
    """The variables that are broker keys: KAFKA_NUM_PARTITIONS is num.partitions.

    Others (KAFKA_HEAP_OPTS, CLUSTER_ID) are for the image's scripts.
    """
    named = {
        key.removeprefix(_PREFIX).lower().replace("_", "."): value
        for key, value in env.items()
        if key.startswith(_PREFIX)
    }
    return {
        key: value
        for key, value in named.items()
        if key in BROKER_KEYS and key not in _OF_THE_CONTAINER
    }
