"""The vectorised decoder says exactly what the plain codecs say, whatever is in the log."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.pipeline.decode.batches import decode_batches
from drumbeat.pipeline.decode.sections import ROWS_MAX
from drumbeat.protocol.record_batch import read_header, seal
from drumbeat.protocol.records import Record, encode_batch
from pipeline.decode.logs import TIMESTAMP, batch, log
from pipeline.decode.reading import ORIGIN, check

SEEDS = st.integers(0, 2**32).map(Random)


@settings(max_examples=150)
@given(SEEDS, st.integers(0, 12), st.integers(1, 8))
def test_any_log(random, batches, records_max):
    check(b"".join(log(random, batches, records_max)))


@pytest.mark.parametrize(("batches", "records_max"), [(400, 3), (250, 60), (120, 40), (3, 1500)])
def test_logs_of_every_shape(batches, records_max):
    """Many small batches, a few large ones, and more than are followed together."""
    check(b"".join(log(Random(batches), batches, records_max)))


@settings(max_examples=60)
@given(SEEDS, st.data())
def test_a_log_cut_off_anywhere(random, data):
    whole = b"".join(log(random, 4, 3))
    check(whole[: data.draw(st.integers(0, len(whole)))])


@settings(max_examples=100)
@given(SEEDS, st.data())
def test_a_changed_byte_anywhere(random, data):
    """Found by the checksum, or outside of it by the header's own rules."""
    whole = bytearray(b"".join(log(random, 4, 3)))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    check(bytes(whole))


@settings(max_examples=150)
@given(SEEDS, st.data())
def test_sound_batches_with_senseless_records(random, data):
    """A checksum says who computed it, not that there are records behind it."""
    sound = log(random, 3, 3)
    header = read_header(sound[1])
    section = bytearray(sound[1][61:])
    if section:
        for _ in range(data.draw(st.integers(1, 3))):
            section[random.randrange(len(section))] = random.randrange(256)
    count = data.draw(st.sampled_from((header.record_count, 0, 1, 2**31 - 1)))
    sound[1] = seal(header._replace(record_count=count), bytes(section))
    check(b"".join(sound))


def test_lengths_of_every_width():
    """Keys, values and whole records whose lengths take one, two, three and four bytes."""
    random = Random(1)
    pairs = [
        (b"\0\x63" + bytes(size), bytes(size))
        for size in (0, 20, 61, 62, 63, 64, 8_190, 8_191, 8_192, 1 << 20)
    ]
    many = [batch(random, 100 * n, random.sample(pairs, 4)) for n in range(120)]
    check(b"".join(many))


def test_timestamps_far_apart():
    rows = [(0, 0), (1, 2**62), (2, -(2**62)), (3, TIMESTAMP)]
    check(encode_batch([Record(offset, timestamp, None, b"") for offset, timestamp in rows]))


def test_no_batch_of_rows_is_larger_than_promised():
    count = 2 * ROWS_MAX + 1
    data = encode_batch([Record(n, 0, b"\0\x63", b"") for n in range(count)])
    found = list(decode_batches(data, **ORIGIN))
    assert [rows.num_rows for rows in found] == [ROWS_MAX, ROWS_MAX, 1]
    offsets = [offset for rows in found for offset in rows["log_offset"].to_pylist()]
    assert offsets == list(range(count))
