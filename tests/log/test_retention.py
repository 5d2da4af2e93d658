"""Which segments go: Kafka's rules on numbers."""

import pytest

from drumbeat.log.port import LogSettings
from drumbeat.log.retention import SegmentSummary, expired_segments

KEEP = LogSettings(retention_ms=-1, retention_bytes=-1)
# Three full segments and an active one: end offset, size, largest timestamp.
LOG = [
    SegmentSummary(10, 100, 1000),
    SegmentSummary(20, 100, 2000),
    SegmentSummary(30, 100, 1500),
    SegmentSummary(35, 50, 3000),
]

CASES = """
now    start  synced  bytes  ms     gone
9999   0      35      -1     -1     0
9999   9      35      -1     -1     0
9999   10     35      -1     -1     1
9999   25     35      -1     -1     2
9999   35     35      -1     -1     3
9999   0      35      350    -1     0
9999   0      35      251    -1     0
9999   0      35      250    -1     1
9999   0      35      50     -1     3
9999   0      35      0      -1     4
9999   0      34      0      -1     3
9999   0      15      0      -1     1
1099   0      35      -1     100    0
1100   0      35      -1     100    0
1101   0      35      -1     100    1
1999   0      35      -1     100    1
2101   0      35      -1     100    3
3100   0      35      -1     100    3
3101   0      35      -1     100    4
3101   0      30      -1     100    3
2101   10     35      150    100    3
"""


@pytest.mark.parametrize("row", CASES.strip().split("\n")[1:])
def test_expired_segments(row):
    now, start, synced, bytes_max, age, gone = map(int, row.split())
    settings = KEEP._replace(retention_bytes=bytes_max, retention_ms=age)
    found = expired_segments(LOG, settings, now_ms=now, start_offset=start, synced_offset=synced)
    assert found == gone


@pytest.mark.parametrize(
    "settings", [KEEP._replace(retention_ms=0), KEEP._replace(retention_bytes=0)]
)
def test_an_empty_last_segment_stays(settings):
    log = [*LOG, SegmentSummary(35, 0, 0)]
    found = expired_segments(log, settings, now_ms=9999, start_offset=0, synced_offset=35)
    assert found == 4
