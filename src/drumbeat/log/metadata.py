"""partition.metadata: which topic, of all that ever had this name, a directory belongs to."""

from __future__ import annotations

import os

from drumbeat.log.errors import CorruptLog, TopicIdMismatch
from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.log.names import METADATA, check_topic_id

_KEY = "topic_id: "
_ADVICE = "restore it from a copy, or remove it: the topic's own id is then written"


def read_topic_id(directory: str) -> str | None:
    """The id in Kafka's 22-character text form, or None where there is no such file."""
    path = os.path.join(directory, METADATA)
    data = read_file(path)
    if data is None:
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    told = [line.removeprefix(_KEY) for line in lines if line.startswith(_KEY)]
    try:
        (topic_id,) = told
        return check_topic_id(topic_id)
    except ValueError:
        raise CorruptLog(path, 0, f"no '{_KEY}<22 characters>'", _ADVICE) from None


def ensure_topic_id(disk: Disk, directory: str, topic_id: str | None) -> None:
    """Record the id if none is recorded; raises TopicIdMismatch if another one is."""
    if topic_id is None:
        return
    recorded = read_topic_id(directory)
    if recorded is None:
        text = f"version: 0\n{_KEY}{check_topic_id(topic_id)}"
        write_file_atomically(disk, os.path.join(directory, METADATA), text.encode())
    elif recorded != topic_id:
        raise TopicIdMismatch(
            f"{os.path.join(directory, METADATA)} names topic id {recorded}, not {topic_id}; "
            "move the directory away, or delete the topic properly first"
        )
