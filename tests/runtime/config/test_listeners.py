"""Listener keys: what is opened, what is advertised, and what cannot be served."""

import pytest

from drumbeat.runtime.config import ConfigError, Endpoint, load_config


def load(text):
    return load_config("\n".join(text.split()))


PLAINTEXT = "PLAINTEXT"

# settings; listeners opened; listeners advertised (None: the same)
SERVED = [
    ("", [(PLAINTEXT, "127.0.0.1", 9092)], None),
    ("listeners=PLAINTEXT://:9092", [(PLAINTEXT, None, 9092)], None),
    ("listeners=plaintext://host.example:0", [(PLAINTEXT, "host.example", 0)], None),
    ("listeners=PLAINTEXT://[::1]:9092", [(PLAINTEXT, "::1", 9092)], None),
    (
        (
            "listeners=PLAINTEXT://127.0.0.1:9092,X://[::1]:9092"
            " listener.security.protocol.map=PLAINTEXT:PLAINTEXT,x:plaintext"
        ),
        [(PLAINTEXT, "127.0.0.1", 9092), ("X", "::1", 9092)],
        None,
    ),
    (
        "listeners=PLAINTEXT://0.0.0.0:9092 advertised.listeners=PLAINTEXT://example.org:19092",
        [(PLAINTEXT, "0.0.0.0", 9092)],
        [(PLAINTEXT, "example.org", 19092)],
    ),
    (
        (
            "listeners=PLAINTEXT://:9092,CONTROLLER://:9093 controller.listener.names=CONTROLLER"
            " advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"
        ),
        [(PLAINTEXT, None, 9092)],
        [(PLAINTEXT, "localhost", 9092)],
    ),
    (
        (
            "listeners=IN://:9092,OUT://:9094 advertised.listeners=OUT://h:1"
            " listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT"
        ),
        [("IN", None, 9092), ("OUT", None, 9094)],
        [("OUT", "h", 1)],
    ),
]

REFUSED = [
    ("listeners=localhost:9092", "expected NAME://host:port, got 'localhost:9092'"),
    ("listeners=PLAINTEXT://h:65536", "expected NAME://host:port"),
    ("listeners=PLAINTEXT://h:" + "9" * 5000, "expected NAME://host:port"),
    ("listeners=PLAINTEXT://h:-1", "expected NAME://host:port"),
    ("listeners=SSL://:9093", "'SSL://:9093' asks for SSL, which is not supported yet"),
    ("listeners=SASL_PLAINTEXT://:9093", "asks for SASL_PLAINTEXT, which is not supported yet"),
    ("listeners=EXTERNAL://:9093", "add EXTERNAL:PLAINTEXT to listener.security.protocol.map"),
    (
        "listeners=PLAINTEXT://:1,PLAINTEXT://:2",
        "each needs its own name, PLAINTEXT is there twice",
    ),
    (
        (
            "listeners=PLAINTEXT://a:1,X://[::1]:1 listener.security.protocol.map=X:PLAINTEXT,"
            "PLAINTEXT:PLAINTEXT"
        ),
        "each needs its own port, 1 is there twice",
    ),
    (
        "listeners=CONTROLLER://:9093 controller.listener.names=CONTROLLER",
        "every listener is the controller's",
    ),
    ("listeners=PLAINTEXT://0.0.0.0:9092", "clients cannot connect to 0.0.0.0"),
    ("advertised.listeners=X://h:1", "expected listener names out of PLAINTEXT, got 'X://h:1'"),
    (
        "controller.listener.names=C advertised.listeners=C://h:1",
        "advertised.listeners: expected at least one broker listener",
    ),
    ("listener.security.protocol.map=PLAINTEXT:NOPE", "got 'PLAINTEXT:NOPE'"),
    ("listener.security.protocol.map=PLAINTEXT", "expected NAME:PROTOCOL"),
    ("listeners=", "listeners: expected a comma-separated list"),
]


@pytest.mark.parametrize(("settings", "bound", "advertised"), SERVED)
def test_listeners_are_opened_and_advertised(settings, bound, advertised):
    config = load(settings).config

    assert config.listeners == tuple(Endpoint(*endpoint) for endpoint in bound)
    expected = bound if advertised is None else advertised
    assert config.advertised_listeners == tuple(Endpoint(*endpoint) for endpoint in expected)


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_what_cannot_be_served_is_refused_with_a_reason(settings, message):
    with pytest.raises(ConfigError) as error:
        load(settings)

    assert message in str(error.value)
    assert str(error.value).startswith(("server.properties:", "listeners:", "advertised."))


def test_a_controllers_listener_is_left_out_with_a_note():
    loaded = load("listeners=PLAINTEXT://:1,C://:2 controller.listener.names=C")
    assert [note.partition(" is ")[0] for note in loaded.notes] == ["listeners: 'C://:2'"]


def test_an_endpoint_reads_as_it_is_written():
    assert str(Endpoint("PLAINTEXT", None, 9092)) == "PLAINTEXT://:9092"
    assert str(Endpoint("PLAINTEXT", "::1", 9092)) == "PLAINTEXT://[::1]:9092"
