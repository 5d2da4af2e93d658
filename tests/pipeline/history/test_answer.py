"""The same rows for people, with and without a terminal, and for programs."""

import io
import json

import pytest

from drumbeat.pipeline.history.answer import Answer, Output, write_answer

ANSWER = Answer(
    columns=("at", "name", "number", "share", "ids", "blob", "is_ok"),
    rows=[
        (1_500, "a,b", 7, 0.25, ["x", "y"], b"\x01\xff", True),
        (None, "esc\x1b[31m", None, float("nan"), [], None, False),
    ],
    times=("at",),
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def written(output, answer=ANSWER, **options):
    out = io.StringIO()
    write_answer(answer, output, out, **options)
    return out.getvalue()


def test_a_table_is_aligned_and_obeys_no_escape_sequence():
    assert written(Output.TABLE).splitlines() == [
        "at                        name         number  share  ids   blob  is_ok",
        "1970-01-01T00:00:01.500Z  a,b               7   0.25  x, y  01ff    yes",
        "-                         esc\\x1b[31m       -    nan  -     -        no",
    ]


def test_json_has_types():
    first, second = json.loads(written(Output.JSON))
    assert first == {
        "at": "1970-01-01T00:00:01.500Z",
        "name": "a,b",
        "number": 7,
        "share": 0.25,
        "ids": ["x", "y"],
        "blob": "01ff",
        "is_ok": True,
    }
    assert (second["at"], second["share"], second["ids"]) == (None, None, [])


def test_csv_quotes_what_it_must():
    header, first, _ = written(Output.CSV).splitlines()
    assert header == "at,name,number,share,ids,blob,is_ok"
    assert first == '1970-01-01T00:00:01.500Z,"a,b",7,0.25,"[""x"", ""y""]",01ff,True'


@pytest.mark.parametrize(("limit", "shown", "more"), [(0, 5, ""), (5, 5, ""), (2, 2, "3 more")])
def test_a_table_stops_at_its_limit_and_says_so(limit, shown, more):
    answer = Answer(("n",), [(n,) for n in range(5)])
    lines = written(Output.TABLE, answer, limit=limit).splitlines()
    assert lines[1 : 1 + shown] == [str(n) for n in range(shown)]
    assert [line.split(";")[0] for line in lines[1 + shown :]] == ([more] if more else [])
    assert len(json.loads(written(Output.JSON, answer, limit=limit))) == 5


def test_no_rows_are_an_answer_too():
    nothing = ANSWER._replace(rows=[])
    assert written(Output.TABLE, nothing) == "nothing\n"
    assert json.loads(written(Output.JSON, nothing)) == []
    assert written(Output.CSV, nothing).count("\n") == 1


def test_a_terminal_gets_a_table_that_fits(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    write_answer(ANSWER, Output.TABLE, out)
    assert "─" in out.getvalue()
    assert "1970-01-01T00:00:01.500Z" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()


def test_a_narrow_terminal_cuts_nothing_short(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    names = tuple(f"column_{n}" for n in range(9))
    answer = Answer((*names, "unknown"), [(*(10**12 + n for n in range(9)), None)])
    write_answer(answer, Output.TABLE, out)
    assert all(str(10**12 + n) in out.getvalue() for n in range(9))
    assert all(name in out.getvalue() for name in names)
    assert "unknown" not in out.getvalue()
