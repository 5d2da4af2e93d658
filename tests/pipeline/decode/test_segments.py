"""Files: read in stretches, torn tails left out, damage named with file and position."""

import pickle
from random import Random

import pyarrow as pa
import pytest

from drumbeat.log.names import segment_stem
from drumbeat.pipeline.decode.errors import CorruptSegment
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.decode.stretches import TAIL_BYTES, read_end, read_stretches
from drumbeat.pipeline.decode.table import CODED
from drumbeat.protocol.record_batch import assign, read_header
from drumbeat.protocol.records import Record, encode_batch
from pipeline.decode.logs import commit, log
from pipeline.decode.plain import plain_rows
from pipeline.decode.reading import ORIGIN, offsets_of, read_buffer, read_segment

BATCHES = log(Random(3), 20, 5)
WHOLE = b"".join(BATCHES)
STARTS = [sum(map(len, BATCHES[:n])) for n in range(len(BATCHES))]
ROWS = plain_rows(WHOLE)[0]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / f"{segment_stem(0)}.log"
    path.write_bytes(WHOLE)
    return path


def rows_before(position):
    return plain_rows(WHOLE[:position])[0]


def test_a_whole_segment(path):
    assert read_segment(str(path)) == (ROWS, None)


def test_text_in_dictionaries_is_the_same_and_each_held_once(path):
    rows = []
    for found in decode_segment(str(path), **ORIGIN, schema=CODED):
        found.validate(full=True)
        for column in found.columns:
            if pa.types.is_dictionary(column.type):
                held = column.dictionary.to_pylist()
                assert len(held) == len(set(held))
        rows += found.to_pylist()
    assert rows == ROWS


def test_an_empty_segment(path):
    path.write_bytes(b"")
    assert read_segment(str(path)) == ([], None)


@pytest.mark.parametrize("chunk_bytes", [1, 61, 300, 2_000, 1 << 20])
def test_stretches_hold_every_batch_once_whatever_their_size(path, chunk_bytes):
    with path.open("rb") as file:
        found = [
            stretch.position + position
            for stretch in read_stretches(file.fileno(), chunk_bytes=chunk_bytes)
            for position in stretch.batches.positions.tolist()
        ]
    assert found == STARTS


TORN = {
    "cut off in a header": lambda: WHOLE[: STARTS[-1] + 20],
    "cut off in the records": lambda: WHOLE[:-1],
    "space that was never written": lambda: WHOLE[: STARTS[-1]] + bytes(5_000),
    "a single byte": lambda: WHOLE[: STARTS[-1] + 1],
}


@pytest.mark.parametrize("name", TORN)
def test_a_torn_tail_is_left_out(path, name):
    path.write_bytes(TORN[name]())
    assert read_segment(str(path)) == (rows_before(STARTS[-1]), None)


DAMAGE = {
    "records": (12, 70, "CRC-32C"),
    "the last batch": (19, 70, "CRC-32C"),
    "format": (5, 16, "unknown magic byte 3"),
    "a length that is too small": (5, 8, "batch length"),
    "a length beyond the end": (5, 9, "are no whole batch, yet a sound batch follows at byte"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_and_everything_before_it_is_read(path, name):
    number, at, message = DAMAGE[name]
    data = bytearray(WHOLE)
    data[STARTS[number] + at] ^= 0x80 if name == "a length that is too small" else 1
    path.write_bytes(data)
    rows, damage = read_segment(str(path))
    assert rows == rows_before(STARTS[number])
    assert (damage.source, damage.position) == (str(path), STARTS[number])
    assert str(damage).startswith(f"{path}, byte {STARTS[number]}: ")
    assert message in damage.found


def test_offsets_that_do_not_rise_are_damage(path):
    path.write_bytes(WHOLE + assign(BATCHES[0], 0, 0))
    rows, damage = read_segment(str(path))
    assert rows == ROWS
    assert damage.position == len(WHOLE)
    assert "offset 0 follows" in damage.found


def test_damage_behind_the_wanted_offsets_does_not_matter(path):
    path.write_bytes(WHOLE[:-5] + bytes(5) + BATCHES[-1])
    wanted = {"end_offset": ROWS[3]["log_offset"]}
    assert read_segment(str(path), **wanted) == (ROWS[:3], None)


def test_the_error_survives_pickling(path):
    error = pickle.loads(pickle.dumps(CorruptSegment("x.log", 7, "damage")))
    assert (str(error), error.position) == ("x.log, byte 7: damage", 7)


@pytest.mark.parametrize("read", [read_segment, read_buffer])
@pytest.mark.parametrize(("first", "last"), [(0, None), (7, 19), (None, 25), (30, 30), (11, None)])
def test_only_wanted_offsets(path, read, first, last):
    offsets = offsets_of(ROWS)
    start = None if first is None else offsets[first]
    end = None if last is None else offsets[last]
    source = str(path) if read is read_segment else WHOLE
    rows, damage = read(source, start_offset=start, end_offset=end)
    assert damage is None
    assert rows == ROWS[first:last]


def test_a_buffer_may_be_any_kind_of_bytes():
    for kind in (bytes, bytearray, memoryview):
        assert read_buffer(kind(WHOLE)) == (ROWS, None)


def test_a_batch_larger_than_a_stretch(path):
    random = Random(1)
    records = [Record(n, 0, *commit(random)) for n in range(50)]
    data = encode_batch(records)
    path.write_bytes(data)
    with path.open("rb") as file:
        (stretch,) = read_stretches(file.fileno(), chunk_bytes=len(data) // 3)
    assert stretch.arena.size == len(data)


BULKY = log(Random(4), 150, 5, [lambda random: (b"\0\x63", random.randbytes(9_000))])
LAST = read_header(BULKY[-1])
DISGUISED = bytes(TAIL_BYTES) + assign(BULKY[-1], LAST.next_offset + 5, 0) + bytes(9)
ENDS = {
    "sound": (b"".join(BULKY), LAST.next_offset),
    "torn": (b"".join(BULKY)[:-1], read_header(BULKY[-2]).next_offset),
    "a record near the end looks like a batch": (
        b"".join(BULKY) + encode_batch([Record(LAST.next_offset, 0, b"\0\x63", DISGUISED)]),
        LAST.next_offset + 1,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_found_without_reading_everything(path, name):
    data, end_offset = ENDS[name]
    assert len(data) > 2 * TAIL_BYTES
    path.write_bytes(data)
    with path.open("rb") as file:
        end = read_end(file.fileno(), 0)
    assert (end.offset, end.bad) == (end_offset, None)
