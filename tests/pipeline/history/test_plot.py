"""Pictures of groups: what is drawn, and that it can be drawn."""

import struct

import pytest

from drumbeat.pipeline.history.errors import HistoryError
from drumbeat.pipeline.history.plot import draw
from drumbeat.pipeline.history.plot_data import OwnershipSpan, plot_data
from drumbeat.pipeline.history.questions import Scope


def data_of(history, group_id, since=None, until=None):
    return plot_data(history, Scope(group_id=group_id), since, until)


def size_of_png(path):
    start = path.read_bytes()[:24]
    assert start.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", start[16:])


def test_data_of_a_classic_group(history):
    data = data_of(history, "orders", until=60_000)
    assert [span.generation for span in data.generations] == [1, 2, 3, 4, 5, 6, 9, 10]
    assert (data.generations[4].cause, data.generations[4].rebalance_from_ms) == (
        "SESSION_TIMEOUT",
        25_000,
    )
    assert OwnershipSpan("orders", 2, "b", "app-b", 3_000, 6_000, False) in data.ownerships
    assert {(line.topic, line.partition) for line in data.lags} == {("orders", 0), ("orders", 1)}
    assert data.since < 1_000
    assert data.until == 60_000


def test_only_what_is_asked_for_is_in_it(history):
    data = data_of(history, "orders", since=9_000, until=26_500)
    assert [span.generation for span in data.generations] == [4, 5]
    assert all(9_000 <= at <= 26_500 for line in data.commits for at in line.times)


@pytest.mark.parametrize("group_id", ["orders", "modern", "payments", "static", "flow"])
def test_every_kind_of_group_can_be_drawn(history, tmp_path, group_id):
    path = tmp_path / "picture.png"
    draw(data_of(history, group_id), str(path))
    width, height = size_of_png(path)
    assert width > 1_000
    assert height > 400


def test_names_are_drawn_as_they_are(history, tmp_path):
    """Neither as formulas nor as a reason to complain."""
    data = data_of(history, "orders", until=60_000)
    odd = [span._replace(topic="$x^{$", client_id="客户_$\\frac$") for span in data.ownerships]
    draw(data._replace(group_id="$\\a$ 组", ownerships=odd), str(tmp_path / "odd.png"))
    assert size_of_png(tmp_path / "odd.png")


def test_many_members_and_partitions_fit(history, tmp_path):
    data = data_of(history, "orders", until=60_000)
    many = [
        OwnershipSpan("t", n, f"m{n}", f"client-{n}", 1_000, None, n % 2 == 0) for n in range(200)
    ]
    draw(data._replace(ownerships=many), str(tmp_path / "many.png"))
    assert size_of_png(tmp_path / "many.png")[1] < 2_500


def test_there_must_be_time_to_draw(history):
    with pytest.raises(HistoryError, match="--from must be before --to"):
        data_of(history, "orders", since=2_000, until=1_000)
