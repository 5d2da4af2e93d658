"""A disk whose power can be cut: an ext4 in a file, mounted through a loop device.

The kernel is told to shut the file system down at once, without writing its journal. What was not
synced is gone, as after a power cut; a killed process alone loses nothing, because the page cache
outlives it.
"""

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path

IMAGE_BYTES = 256 << 20
PROGRAMS = ("mkfs.ext4", "mount", "umount", "losetup")

# From Linux's include/uapi/linux/ext4.h.
EXT4_IOC_SHUTDOWN = 0x8004587D
EXT4_GOING_FLAGS_NOLOGFLUSH = 2


class NoPowerSwitchError(Exception):
    """Such a disk cannot be had here; says why."""


class Disk:
    """`with Disk(folder) as disk:` has a new file system at `disk.place`."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "disk"
        self._image = folder / "disk.img"

    def __enter__(self) -> "Disk":
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if os.geteuid() != 0 or missing:
            raise NoPowerSwitchError(f"{' and '.join(missing)} missing" if missing else "not root")
        self.place.mkdir()
        with self._image.open("wb") as image:
            image.truncate(IMAGE_BYTES)
        try:
            _run("mkfs.ext4", "-q", str(self._image))
            self._mount()
        except subprocess.CalledProcessError as problem:
            raise NoPowerSwitchError(problem.stderr.decode().strip()) from problem
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.place.is_mount():
            _run("umount", "--lazy", str(self.place))  # even if a process still looks at it
        self._image.unlink()

    def cut_and_restore(self) -> None:
        """Power off and on again; nobody may have anything open."""
        place = os.open(self.place, os.O_RDONLY)
        try:
            flags = struct.pack("I", EXT4_GOING_FLAGS_NOLOGFLUSH)
            fcntl.ioctl(place, EXT4_IOC_SHUTDOWN, flags)
        finally:
            os.close(place)
        _run("umount", str(self.place))
        self._mount()

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.place))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
