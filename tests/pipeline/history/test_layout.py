"""Tables that fit: what is folded, what is left out, and how times are written."""

import io

import pytest

from drumbeat.pipeline.history.layout import Column, View, write_view

DAY_MS = 86_400_000
AT = 1_794_811_545_684


class Terminal(io.StringIO):
    def isatty(self):
        return True


def column(name, **options):
    return Column(name=name, value=lambda row: row[name], **options)


VIEW = View(
    (
        column("at", is_time=True),
        column("name", folds_to=6),
        column("text", folds_to=10, interest=5),
        column("count", is_number=True, interest=3),
        column("place", tells_apart=True),
    )
)
ROW = {
    "at": AT,
    "name": "orders-and-payments",
    "text": "somebody said that it was so",
    "count": 7,
    "place": "here",
}


def written(*rows, view=VIEW, width=None, monkeypatch=None, out=None):
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO() if out is None else out
    write_view(view, rows, out)
    return out.getvalue().splitlines()


def test_what_fits_is_written_in_one_line():
    assert written(ROW, ROW | {"count": None}) == [
        "on 2026-11-16, UTC",
        "at            name                 text                          count",
        "06:45:45.684  orders-and-payments  somebody said that it was so      7",
        "06:45:45.684  orders-and-payments  somebody said that it was so      -",
    ]


def test_names_have_room_before_texts(monkeypatch):
    assert written(ROW, width=54, monkeypatch=monkeypatch) == [
        "on 2026-11-16, UTC",
        "at            name                 text          count",
        "06:45:45.684  orders-and-payments  somebody          7",
        "                                   said that it",
        "                                   was so",
    ]


def test_what_is_of_least_interest_goes_first(monkeypatch):
    assert written(ROW, width=32, monkeypatch=monkeypatch) == [
        "on 2026-11-16, UTC",
        "at            name    text",
        "06:45:45.684  orders  somebody",
        "              -and-p  said that",
        "              ayment  it was so",
        "              s",
        "no room for count; --wide shows",
        "everything",
    ]


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([ROW, ROW | {"place": "there"}], set()),
        ([ROW], {"place"}),
        ([ROW | {"count": None, "text": None}], {"count", "text", "place"}),
    ],
)
def test_columns_that_say_nothing_are_left_out(rows, missing):
    names = ["at", "name", "text", "count", "place"]
    assert written(*rows)[1].split() == [name for name in names if name not in missing]


def test_of_several_days_each_time_has_its_own():
    lines = written(ROW, ROW | {"at": AT + DAY_MS}, ROW | {"at": None})
    assert [line[:19] for line in lines[1:]] == [
        "2026-11-16 06:45:45",
        "2026-11-17 06:45:45",
        "-                  ",
    ]


def test_notes_stand_below_and_nothing_is_obeyed():
    view = View((column("name"),), lambda rows: [f"{len(rows)} rows\x1b[31m"])
    assert written({"name": "a\x1b[2J"}, view=view) == ["name", "a\\x1b[2J", "", "1 rows\\x1b[31m"]


def test_wide_characters_count_twice(monkeypatch):
    lines = written(ROW | {"name": "订单" * 8}, width=40, monkeypatch=monkeypatch)
    assert lines[2].startswith("06:45:45.684  订单订  ")


def test_a_terminal_gets_colours_within_its_width(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    view = View((column("name"), column("text", folds_to=10)))
    rows = [{"name": "critical", "text": "x " * 40}]
    lines = written(*rows, view=view, width=40, monkeypatch=monkeypatch, out=Terminal())
    assert any("\x1b[1;31mcritical" in line for line in lines)
    assert lines[1] == "─" * 40
