""".properties text is read as java.util.Properties reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.runtime.config.properties import (
    PropertiesError,
    Property,
    decode_properties,
    parse_properties,
)

# What Java 17 makes of each text.
CASES = [
    ("", []),
    ("\n \t\f\n\r\n", []),
    ("# a comment\n! another\n   # indented", []),
    ("a=b", [("a", "b", 1)]),
    ("a:b", [("a", "b", 1)]),
    ("a b", [("a", "b", 1)]),
    ("a", [("a", "", 1)]),
    ("  a \t=\f b  ", [("a", "b  ", 1)]),
    ("a = = b", [("a", "= b", 1)]),
    ("a==b", [("a", "=b", 1)]),
    ("=b", [("", "b", 1)]),
    ("a=b#c", [("a", "b#c", 1)]),
    ("url=PLAINTEXT://:9092", [("url", "PLAINTEXT://:9092", 1)]),
    ("a\\=b\\:c\\ d=e", [("a=b:c d", "e", 1)]),
    ("a=1\r\nb=2\rc=3\nd=4", [("a", "1", 1), ("b", "2", 2), ("c", "3", 3), ("d", "4", 4)]),
    ("a=b,\\\n   c,\\\r\n\td\ne=f", [("a", "b,c,d", 1), ("e", "f", 4)]),
    ("a=b\\\\\nc=d", [("a", "b\\", 1), ("c", "d", 2)]),
    ("a=b\\", [("a", "b", 1)]),
    ("a=b\\\n\nc=d", [("a", "b", 1), ("c", "d", 3)]),
    ("a=b\\\n# no comment", [("a", "b# no comment", 1)]),
    ("# no \\\na=b", [("a", "b", 2)]),
    ("\\\n# a comment\na=b", [("a", "b", 3)]),
    ("a=\\t\\n\\r\\f\\\\\\q", [("a", "\t\n\r\f\\q", 1)]),
    ("\\u0061=\\u00e9\\u4E2d", [("a", "é中", 1)]),
    ("a=\\ud83d\\ude00", [("a", "😀", 1)]),
    ("a=\u2028b\x0bc\x85d", [("a", "\u2028b\x0bc\x85d", 1)]),
    ("a=1\na=2", [("a", "1", 1), ("a", "2", 2)]),
]


@pytest.mark.parametrize(("text", "entries"), CASES)
def test_text_becomes_entries(text, entries):
    assert parse_properties(text) == [Property(*entry) for entry in entries]


@pytest.mark.parametrize(
    ("text", "line_number"),
    [("a=\\u12", 1), ("\n\na=\\u12xy", 3), ("a=b\nc\\u=d", 2), ("a=\\ud83d", 1)],
)
def test_a_bad_escape_is_an_error_with_its_line(text, line_number):
    with pytest.raises(PropertiesError) as error:
        parse_properties(text)

    assert error.value.line_number == line_number


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.text(), max_size=4))
def test_fully_escaped_text_comes_back(entries):
    def escape(text):
        units = text.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

    text = "\n".join(f"{escape(key)} : {escape(value)}" for key, value in entries.items())
    assert {p.key: p.value for p in parse_properties(text)} == entries


@given(st.text(alphabet="ab=: \t\f\\\n\r#!u0"))
def test_any_text_is_read_or_refused_with_a_line_that_exists(text):
    lines = 1 + text.count("\n") + text.count("\r")
    try:
        numbers = [entry.line_number for entry in parse_properties(text)]
    except PropertiesError as error:
        numbers = [error.line_number]
    assert all(1 <= number <= lines for number in numbers)
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("rack=Zürich".encode(), "rack=Zürich"),
        ("rack=Zürich".encode("iso-8859-1"), "rack=Zürich"),
        (b"\xef\xbb\xbfnode.id=1", "node.id=1"),
    ],
)
def test_a_file_is_utf_8_or_latin_1(data, text):
    assert decode_properties(data) == text
