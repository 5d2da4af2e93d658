"""What a successful sync to this directory is worth, as far as the machine tells."""

from __future__ import annotations

import os
from typing import NamedTuple

from drumbeat.log.port import Durability

_SYNCED = "every acknowledged batch was written, and fdatasync returned, before it was acknowledged"
_ATOMIC = "a batch is there whole or not at all: CRC-32C over each, a torn last one is cut"
_ONE_OWNER = "one owner per partition: flock on its directory, epoch durable before the first write"
_DRIVE = "the drive keeps what it has confirmed: its write cache obeys flushes or has a battery"
_ONE_COPY = "there is one copy: whoever loses this disk loses the log"

_VOLATILE = frozenset({"tmpfs", "ramfs"})
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"})


class _Mount(NamedTuple):
    point: str
    kind: str
    options: frozenset[str]


def describe_durability(directory: str) -> Durability:
    mount = _mount_of(directory)
    kind = "an unknown file system" if mount is None else mount.kind
    assumed = [f"{kind} at {directory} honours fsync", _DRIVE, _ONE_COPY]
    if kind in _VOLATILE:
        assumed.insert(0, f"the machine never stops: {kind} lives in memory, nothing survives that")
    if kind in _REMOTE:
        assumed.insert(0, f"{kind} honours flock between machines and fsync on its server")
    if mount is not None and not mount.options.isdisjoint({"nobarrier", "barrier=0"}):
        assumed.insert(0, "the drive needs no flush: the file system is mounted without barriers")
    return Durability(proven=(_SYNCED, _ATOMIC, _ONE_OWNER), assumed=tuple(assumed))


def _mount_of(directory: str) -> _Mount | None:
    """The innermost mount that holds the directory, from Linux's own table."""
    path = os.path.realpath(directory)
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table:
            mounts = [_parse(line) for line in table]
    except OSError:
        return None
    holding = [mount for mount in mounts if _holds(mount.point, path)]
    return max(holding, key=lambda mount: len(mount.point), default=None)


def _parse(line: str) -> _Mount:
    # A line: 36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
    before, _, after = line.partition(" - ")
    fields, (kind, _, *options) = before.split(), after.split(maxsplit=2)
    point = fields[4].replace("\\040", " ")
    return _Mount(point, kind, frozenset(",".join([fields[5], *options]).strip().split(",")))


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
