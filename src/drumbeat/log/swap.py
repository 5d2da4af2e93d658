"""Putting compacted segments in the place of those they were made from, so that no crash shows.

Kafka's way and Kafka's names (LocalLog.replaceSegments), one step after the other on disk:

1. the new files are written and synced under names that end in .cleaned: worth nothing yet;
2. they are renamed to .swap. From the moment the last one is, they count and the sources do not;
3. the sources go to the history;
4. the new files get their names.

Whoever opens the directory finishes this from step 3 on if there are .swap files and no .cleaned
ones beside them; otherwise nothing has happened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk, sync_directory
from drumbeat.log.history import retire
from drumbeat.log.names import (
    CLEANED_SUFFIX,
    SWAP_SUFFIX,
    is_partition_file,
    parse_segment_name,
    parse_swap_name,
)
from drumbeat.log.port import NO_TIMESTAMP, SCAN_ALL
from drumbeat.log.segment import Extent, Segment
