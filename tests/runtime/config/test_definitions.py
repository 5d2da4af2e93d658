"""Text becomes a value as in Kafka, and a refusal says what was expected."""

import pytest

from drumbeat.runtime.config.definitions import ConfigType, ConfigValueError, format_value
from drumbeat.runtime.config.table import ConfigTable, Section

TABLE = ConfigTable(
    used=(
        Section(
            "Used",
            """
an.int int 1 1..9
a.short short null
some.ms long 5 -1..
some.bytes int null
a.boolean boolean false
a.double double 0.5 0..1
a.list list a,b {a,b,c}
any.list list ""
filled.list list x nonempty
a.level int -1 -1|1..9
a.string string x {x,Y}
loose.string string x {x,Y}i
a.password password null
a.class class null
some.replicas list "" replicas
    Replicas whose traffic
    is throttled.
""",
        ),
    ),
    accepted=(Section("Accepted", "unused.key string null internal dynamic server=an.int\n"),),
)

ACCEPTED = [
    ("an.int", "1", 1),
    ("an.int", " +9 ", 9),
    ("a.short", "-32768", -32768),
    ("some.ms", "-1", -1),
    ("some.ms", "9223372036854775807", 2**63 - 1),
    ("a.boolean", "TRUE", True),
    ("a.boolean", "false", False),
    ("a.double", "1", 1.0),
    ("a.double", "1e-1f", 0.1),
    ("a.double", ".25", 0.25),
    ("a.list", "c , a", ("c", "a")),
    ("a.list", "a,a,b", ("a", "b")),
    ("a.list", "", ()),
    ("any.list", "x, y z", ("x", "y z")),
    ("a.level", "-1", -1),
    ("a.level", "9", 9),
    ("a.string", "Y", "Y"),
    ("loose.string", "y", "y"),
    ("a.password", " p ", "p"),
    ("a.class", "org.x.Y", "org.x.Y"),
    ("some.replicas", "*", ("*",)),
    ("some.replicas", "0:1,1:2", ("0:1", "1:2")),
]

REFUSED = [
    ("an.int", "x", "an.int: expected a whole number: between 1 and 9, got 'x'"),
    ("an.int", "0", "an.int: expected a whole number: between 1 and 9, got '0'"),
    ("an.int", "1_0", "an.int: expected a whole number: between 1 and 9, got '1_0'"),
    ("a.short", "32768", "a.short: expected a 16-bit whole number, got '32768'"),
    ("some.ms", "x", "some.ms: expected a whole number of milliseconds: at least -1, got 'x'"),
    ("some.ms", "", "some.ms: expected a whole number of milliseconds: at least -1, got ''"),
    ("some.bytes", str(2**31), "some.bytes: expected a 32-bit whole number of bytes, got"),
    ("a.boolean", "yes", "a.boolean: expected a boolean (true or false), got 'yes'"),
    ("a.double", "nan", "a.double: expected a decimal number: between 0 and 1, got 'nan'"),
    ("a.double", "1e999", "a.double: expected a decimal number"),
    ("a.double", "1.5", "a.double: expected a decimal number: between 0 and 1, got '1.5'"),
    ("a.list", "a,d", "one of a, b, c, got 'a,d'"),
    ("a.list", "a,,b", "a.list: expected a comma-separated list without empty elements"),
    ("filled.list", "", "filled.list: expected a comma-separated list"),
    ("a.level", "0", "a.level: expected a whole number: -1 or between 1 and 9, got '0'"),
    ("a.string", "y", "a.string: expected a string: one of x, Y, got 'y'"),
    ("some.replicas", "0-1", "'*' or partition:broker pairs, got '0-1'"),
]


@pytest.mark.parametrize(("name", "text", "value"), ACCEPTED)
def test_a_valid_text_becomes_its_value(name, text, value):
    parsed = TABLE[name].parse(text)

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(("name", "text", "message"), REFUSED)
def test_a_refusal_names_the_key_and_what_it_expects(name, text, message):
    with pytest.raises(ConfigValueError) as refusal:
        TABLE[name].parse(text)

    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        ("x", "x"),
        (("a", "b"), "a,b"),
        ((), ""),
        (0.5, "0.5"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-12345678.0, "-1.2345678E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_values_are_written_as_java_writes_them(value, text):
    assert format_value(value) == text


def test_a_row_gives_a_definition():
    definition = TABLE["unused.key"]
    assert (definition.type, definition.default) == (ConfigType.STRING, None)
    assert (definition.is_used, definition.is_dynamic, definition.is_internal) == (
        False,
        True,
        True,
    )
    assert definition.server_default == "an.int"
    assert TABLE["some.replicas"].documentation == "Replicas whose traffic is throttled."
    assert TABLE["any.list"].default == ""
    assert TABLE["a.password"].is_sensitive
    assert "nothing" not in TABLE
    assert TABLE.get("nothing") is None
    assert len(TABLE) == len(list(TABLE)) == 16


def test_the_types_have_their_numbers_on_the_wire():
    names = "UNKNOWN BOOLEAN STRING INT SHORT LONG DOUBLE LIST CLASS PASSWORD"
    assert [member.name for member in sorted(ConfigType)] == names.split()
