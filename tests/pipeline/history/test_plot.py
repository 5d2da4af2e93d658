"""Pictures of groups: what is drawn, and that it can be drawn."""

import struct

import pytest

from drumbeat.pipeline.history.errors import HistoryError
from drumbeat.pipeline.history.plot import draw
from drumbeat.pipeline.history.plot_data import GenerationSpan, Line, OwnershipSpan, plot_data
from drumbeat.pipeline.history.plot_generations import height_in, placed_causes
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


def test_it_ends_with_the_last_change(history):
    """Neither where a bucket ends, nor with samples that say the same as before."""
    data = data_of(history, "payments")
    newest = max(line.times[-1] for line in data.lags)
    assert newest == 120_000, "when an end was sampled for the last time"
    assert newest < data.until < newest * 1.03
    assert data.cluster_id == "golden"


def generations(*starts):
    return [
        GenerationSpan(from_ms=at, to_ms=None, generation=n, n_members=1, cause="JOIN",
                       rebalance_from_ms=at)
        for n, at in enumerate(starts)
    ]  # fmt: skip


def test_causes_do_not_touch_each_other(history):
    data = data_of(history, "orders", since=0, until=100_000)
    placed = list(placed_causes(data._replace(generations=generations(10_000, 50_000, 51_000))))
    assert [(cause.row, cause.is_left) for cause in placed] == [(0, False), (0, False), (1, False)]
    crowded = list(
        placed_causes(data._replace(generations=generations(*range(40_000, 40_900, 100))))
    )
    assert [cause.row for cause in crowded] == [0, 1, 2]
    assert height_in(placed) < height_in(crowded)
    at_the_edge = list(placed_causes(data._replace(generations=generations(99_500))))
    assert at_the_edge[0].is_left


@pytest.mark.parametrize("values", [[0, 0, 0], [0, 1, 0], [5, None, 1_000_000]])
def test_any_lag_can_be_drawn(history, tmp_path, values):
    data = data_of(history, "orders", since=0, until=100_000)
    lag = Line("t", 0, [10_000, 50_000, 99_000], values)
    draw(data._replace(lags=[lag]), str(tmp_path / "lag.png"))
    assert size_of_png(tmp_path / "lag.png")


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
