"""A broker in a process of its own, and a stage on it for the client that a module is about."""

import pytest

from interop import go_programs, java_programs, node_programs, python_programs
from interop.either_broker import BROKERS
from interop.stage import Stage
from support.brokers import IS_KAFKA

# Files are shared out whole: those that take minutes come first, the others fill the gaps.
MINUTES_LONG = (
    "test_expectations.py",
    "test_oracle.py",
    "test_our_consumer.py",
    "test_pipeline_kafka.py",
    "test_spark_cluster.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in MINUTES_LONG)


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """Drumbeat's; Apache Kafka's with DRUMBEAT_TEST_BROKER=kafka, to check what we expect."""
    start = BROKERS["kafka" if IS_KAFKA else "drumbeat"]
    with start(tmp_path_factory.mktemp("broker")) as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture(scope="session")
def go_binary(tmp_path_factory):
    return go_programs.build(tmp_path_factory.mktemp("go"))


@pytest.fixture(scope="session")
def node_modules():
    return node_programs.install()


@pytest.fixture(scope="session")
def clients(go_binary, node_modules):
    """How each client's member is started."""
    return {
        "java": java_programs.member_command,
        "go": go_programs.member_of(go_binary),
        "node": node_programs.member_of(node_modules),
        "confluent-kafka": python_programs.member_of("confluent-kafka"),
        "kafka-python": python_programs.member_of("kafka-python"),
        "drumbeat": python_programs.member_of("drumbeat"),
    }


@pytest.fixture
def stage(servers, tmp_path, client):
    with Stage(servers, tmp_path, client) as stage:
        yield stage
