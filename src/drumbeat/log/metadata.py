"""partition.metadata: which topic, of all that ever had this name, a directory belongs to."""

from __future__ import annotations

import os

from drumbeat.log.errors import TopicIdMismatch
from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.log.names import METADATA, check_topic_id

_KEY = "topic_id: "


def read_topic_id(directory: str) -> str | None:
    """The id in Kafka's 22-character text form, or None where there is no such file."""
    data = read_file(os.path.join(directory, METADATA))
    lines = [] if data is None else data.decode("utf-8", "replace").splitlines()
    return next((line.removeprefix(_KEY) for line in lines if line.startswith(_KEY)), None)


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
            f"{directory} belongs to topic id {recorded}, not {topic_id}; "
            "move it away, or delete the topic properly first"
        )
