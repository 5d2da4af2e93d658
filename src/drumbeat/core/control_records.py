"""Control records: the broker's own notes between the data, such as the end of a transaction.

They stand alone in batches with the control bit set, and the batch says whose transaction it is.
"""

import struct
from enum import IntEnum

from drumbeat.core.records import RecordError

_KEY = struct.Struct(">hh")  # version, type; later versions may append


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1


def read_control_type(key: bytes | None) -> ControlType | None:
    """How a transaction ended; None for control records that are about something else."""
    if key is None or len(key) < _KEY.size:
        raise RecordError(f"control record key {key!r} is too short")
    version, control_type = _KEY.unpack_from(key)
    if version < 0:
        raise RecordError(f"control record key has version {version}")
    return ControlType(control_type) if control_type in list(ControlType) else None
