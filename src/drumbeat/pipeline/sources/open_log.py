"""A log by what the command line calls it: a directory, or addresses of brokers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from drumbeat.pipeline.sources.cluster_log import ClusterLog
from drumbeat.pipeline.sources.folder_log import FolderLog
from drumbeat.pipeline.sources.offsets_log import OffsetsLog

_ADDRESS: Final = r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}"
_ADDRESSES = re.compile(rf"{_ADDRESS}(\s*,\s*{_ADDRESS})*")


def open_log(
    source: str, cluster_id: str | None = None, options: Mapping[str, Any] | None = None
) -> OffsetsLog:
    """SourceError if there is none. A directory with a name like an address is a directory."""
    if is_brokers(source):
        return ClusterLog.open(source, cluster_id, **(options or {}))
    return FolderLog.open(source, cluster_id)


def is_brokers(source: str) -> bool:
    return _ADDRESSES.fullmatch(source) is not None and not os.path.exists(source)
