"""A server.properties of Kafka's works; what is wrong with one is said all at once."""

import re
from pathlib import Path

import pytest

import drumbeat
from drumbeat.runtime.config import BrokerConfig, ConfigError, Endpoint, load_config
from drumbeat.runtime.config.broker import BROKER_KEYS, has_effect
from drumbeat.runtime.config.broker_config import DERIVED_ATTRIBUTES
from drumbeat.runtime.config.topic import TOPIC_KEYS

# The keys and values of the file that Kafka 4.3 ships, in its order.
STOCK = """
# Roles and quorum
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093

# Sockets
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\\
    SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600

# Logs
log.dirs=data/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2

# Internal topics
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1

# Flushing
#log.flush.interval.messages=10000
#log.flush.interval.ms=1000

# Retention
log.retention.hours=168
#log.retention.bytes=1073741824
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def check_refused(messages, text=None, overrides=(), cli=None):
    with pytest.raises(ConfigError) as error:
        load_config(text, overrides, cli)
    assert list(error.value.problems) == messages
    assert str(error.value) == "\n".join(messages)


def test_the_file_kafka_ships_loads():
    loaded = load_config(STOCK)

    assert loaded.config.node_id == 1
    assert loaded.config.log_dir == "data/kraft-combined-logs"
    assert loaded.config.listeners == (Endpoint("PLAINTEXT", None, 9092),)
    assert loaded.config.advertised_listeners == (Endpoint("PLAINTEXT", "localhost", 9092),)
    assert loaded.config.log_retention_ms == 7 * 24 * 3_600_000
    assert loaded.ignored == [
        "process.roles",
        "controller.quorum.bootstrap.servers",
        "inter.broker.listener.name",
        "num.network.threads",
        "num.io.threads",
        "socket.receive.buffer.bytes",
        "num.recovery.threads.per.data.dir",
        "offsets.topic.replication.factor",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
    ]


def test_nothing_at_all_loads_with_defaults():
    loaded = load_config(None)

    assert loaded.ignored == loaded.notes == []
    assert loaded.config.listeners == (Endpoint("PLAINTEXT", "127.0.0.1", 9092),)
    assert loaded.config.group_initial_rebalance_delay_ms == 3000
    assert loaded.config.offsets_retention_ms == 7 * 24 * 3_600_000
    assert loaded.config.layers.merged() == {}


def test_the_later_source_wins():
    loaded = load_config(
        "num.partitions=2\nlog.dirs=file\ngroup.max.size=2",
        ["num.partitions = 3", "group.max.size=3", "group.max.size=4"],
        {"log.dirs": "cli", "group.max.size": "5"},
    )
    assert loaded.config.num_partitions == 3
    assert loaded.config.log_dir == "cli"
    assert loaded.config.group_max_size == 5


UNKNOWN = [
    ("num.partition", "num.partitions"),
    ("log.retention.mss", "log.retention.ms"),
    ("retention.ms", "log.retention.ms"),
    ("advertized.listeners", "advertised.listeners"),
    ("auto.create.topic.enable", "auto.create.topics.enable"),
    ("offsets.topic.partitions", "offsets.topic.num.partitions"),
]


@pytest.mark.parametrize(("key", "nearest"), UNKNOWN)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(key, nearest):
    expected = f"unknown key {key!r}; did you mean {nearest!r}?"
    check_refused([f"server.properties:2: {expected}"], f"# first\n{key}=1")
    check_refused([f"--set: {expected}"], overrides=[f"{key}=1"])


def test_an_unknown_key_unlike_any_other_is_refused_without_a_guess():
    check_refused(["command line: unknown key 'bananas'"], cli={"bananas": "1"})


def test_all_that_is_wrong_is_said_at_once():
    check_refused(
        [
            "--set: expected key=value, got 'broken'",
            "--set: expected key=value, got '=1'",
            "server.properties:1: unknown key 'num.partition'; did you mean 'num.partitions'?",
            "server.properties:3: num.io.threads: expected a whole number: at least 1, got '0'",
            "--set: log.segment.bytes: expected a whole number of bytes: at least 1048576, got '5'",
        ],
        "num.partition=1\n\nnum.io.threads=0\nlog.segment.bytes=6",
        ["broken", "=1", "log.segment.bytes=5"],
    )


def test_text_that_is_not_properties_is_refused_with_its_line():
    with pytest.raises(ConfigError, match=r"^other\.properties:2: \\u needs four"):
        load_config("a=b\nnode.id=\\u12", properties_name="other.properties")


# Each contradiction and what is said about it.
CONTRADICTIONS = [
    ("log.dirs=a,b", "log.dirs: expected one directory, which is all that is supported, got 'a,b'"),
    ("log.retention.ms=0", "log.retention.ms: expected at least 1, or -1 for no limit, got 0"),
    ("log.roll.ms=0", "log.roll.ms: expected at least 1, got 0"),
    ("node.id=1\nbroker.id=2", "broker.id: expected the value of node.id or none, got '2'"),
    (
        "queued.max.request.bytes=5",
        (
            "queued.max.request.bytes: expected -1 or at least "
            "socket.request.max.bytes (104857600), got 5"
        ),
    ),
    (
        "group.min.session.timeout.ms=1800001",
        (
            "group.min.session.timeout.ms: expected at most "
            "group.max.session.timeout.ms (1800000), got 1800001"
        ),
    ),
    (
        "group.consumer.session.timeout.ms=60001",
        (
            "group.consumer.session.timeout.ms: expected at most "
            "group.consumer.max.session.timeout.ms (60000), got 60001"
        ),
    ),
    (
        "group.consumer.min.heartbeat.interval.ms=5001",
        (
            "group.consumer.min.heartbeat.interval.ms: expected at most "
            "group.consumer.heartbeat.interval.ms (5000), got 5001"
        ),
    ),
    (
        (
            "group.consumer.heartbeat.interval.ms=45000\n"
            "group.consumer.max.heartbeat.interval.ms=45000"
        ),
        (
            "group.consumer.heartbeat.interval.ms: expected less than "
            "group.consumer.session.timeout.ms (45000), got 45000"
        ),
    ),
    (
        "group.consumer.assignment.interval.ms=15001",
        (
            "group.consumer.assignment.interval.ms: expected at most "
            "group.consumer.max.assignment.interval.ms (15000), got 15001"
        ),
    ),
    (
        "group.coordinator.rebalance.protocols=consumer",
        "group.coordinator.rebalance.protocols: expected classic in it, got consumer",
    ),
    (
        "group.consumer.assignors=range,org.example.Mine",
        (
            "group.consumer.assignors: expected assignors out of uniform, range, "
            "got 'org.example.Mine'"
        ),
    ),
]


@pytest.mark.parametrize(("text", "message"), CONTRADICTIONS)
def test_values_that_contradict_each_other_are_refused(text, message):
    line_number = next(
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if line.partition("=")[0] == message.partition(":")[0]
    )
    check_refused([f"server.properties:{line_number}: {message}"], text)


def test_assignors_may_be_named_by_their_class():
    package = "org.apache.kafka.coordinator.group.assignor"
    loaded = load_config(f"group.consumer.assignors={package}.RangeAssignor,uniform")
    assert loaded.config.group_consumer_assignors == ("range", "uniform")


@pytest.mark.parametrize(
    ("text", "listener", "advertised"),
    [
        ("", ("127.0.0.1", 7), ("127.0.0.1", 7)),
        ("listeners=PLAINTEXT://:9092", (None, 7), (None, 7)),
        (STOCK, (None, 7), ("localhost", 7)),
    ],
)
def test_port_moves_the_client_listener_and_what_it_advertises(text, listener, advertised):
    config = load_config(text, cli={"port": "7"}).config
    assert config.listeners == (Endpoint("PLAINTEXT", *listener),)
    assert config.advertised_listeners == (Endpoint("PLAINTEXT", *advertised),)


def test_port_needs_a_number_and_one_listener():
    check_refused(["--port: expected a port number, got 'x'"], cli={"port": "x"})
    text = "listeners=PLAINTEXT://:1,B://:2\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,B:PLAINTEXT"
    message = "--port: listeners names 2 listeners; set their ports there"
    check_refused([message], text, cli={"port": "7"})
    check_refused(
        ["--port: listeners: expected NAME://host:port, got 'PLAINTEXT://127.0.0.1:70000'"],
        cli={"port": "70000"},
    )
    check_refused(["server.properties:1: unknown key 'port'"], "port=9092")


@pytest.mark.parametrize("text", ["node.id=4", "broker.id=4", "broker.id=4\nnode.id=4"])
def test_node_id_goes_by_two_names(text):
    config = load_config(text).config
    assert config.node_id == 4
    assert config.layers.static == {"node.id": "4", "broker.id": "4"}


def test_an_authorizer_is_noted_because_it_does_not_authorize():
    loaded = load_config("authorizer.class.name=org.example.A\nsuper.users=User:a")
    assert loaded.ignored == ["authorizer.class.name", "super.users"]
    assert [note.partition(":")[0] for note in loaded.notes] == ["authorizer.class.name"]


def test_every_known_key_may_be_set_to_its_default():
    keys = [d for d in BROKER_KEYS.values() if d.default is not None]
    text = "\n".join(f"{definition.name}={definition.default}" for definition in keys)
    loaded = load_config(text)
    assert set(loaded.ignored) == {d.name for d in keys if not has_effect(d.name)}
    assert loaded.config._replace(layers=None) == load_config(None).config._replace(layers=None)


def test_exactly_the_keys_that_the_node_reads_have_an_effect():
    """What the reference page promises is what some module outside this package looks at."""
    package = Path(drumbeat.__file__).parent
    outside = "\n".join(
        path.read_text()
        for path in package.rglob("*.py")
        if path.parent != package / "runtime" / "config"
    )
    through_topics = {d.server_default for d in TOPIC_KEYS.values() if d.server_default is not None}
    for attribute in set(BrokerConfig._fields) - DERIVED_ATTRIBUTES - {"layers"}:
        key = attribute.replace("_", ".")
        is_read = re.search(rf"\b{attribute}\b", outside) is not None or key in through_topics
        assert has_effect(key) == is_read, key
