"""Progress: seldom and readable without a terminal, and always until the end."""

import io

import pytest

from drumbeat.pipeline.progress import LINE_EVERY_MS, Counts, Lines, reporter, show_nothing, watched


def test_without_a_terminal_there_is_a_line_now_and_then():
    out = io.StringIO()
    with reporter(out, "reading") as show:
        show(Counts(100, 10), 200, LINE_EVERY_MS - 1)
        show(Counts(12_000, 50), 200, LINE_EVERY_MS)
        show(Counts(13_000, 60), 200, LINE_EVERY_MS + 1)
        show(Counts(30_000, 200), 200, LINE_EVERY_MS * 2)
        show(Counts(30_000, 200), 200, LINE_EVERY_MS * 3)
    assert out.getvalue().splitlines() == [
        "reading:  25 %  12,000 records, 2,400 records/s",
        "reading: 100 %  30,000 records, 3,000 records/s",
    ]


def test_an_empty_log_has_progress_too():
    out = io.StringIO()
    Lines(out, "reading")(Counts(1, 0), 0, LINE_EVERY_MS)
    assert out.getvalue() == "reading:   0 %  1 records, 0 records/s\n"


def test_a_terminal_gets_a_bar():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    with reporter(out, "reading") as show:
        show(Counts(12_000, 50), 200, 1000)
    assert "reading: 12,000 records" in out.getvalue()


def test_the_last_counts_are_always_shown():
    seen = []
    counts = [Counts()]

    def work():
        counts[0] = Counts(5, 9)
        return "done"

    def show(*shown):
        seen.append(shown)

    assert watched(work, lambda: counts[0], 9, show) == "done"
    assert seen[-1][:2] == (Counts(5, 9), 9)


def test_what_goes_wrong_is_raised():
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 // 0, Counts, 9, show_nothing)
