"""The package as one zip file, which executors on other machines import it from."""

from __future__ import annotations

import os
import zipfile
from typing import Final

import drumbeat

_SUFFIXES: Final = (".py", ".typed")


def zip_package(directory: str) -> str:
    """The path of `drumbeat.zip`, made anew in `directory`."""
    root = os.path.dirname(os.path.abspath(drumbeat.__file__))
    parent = os.path.dirname(root)
    path = os.path.join(directory, "drumbeat.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                if name.endswith(_SUFFIXES):
                    file = os.path.join(folder, name)
                    archive.write(file, os.path.relpath(file, parent))
    return path
