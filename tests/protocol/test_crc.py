"""Checksums come from the extension, and the extension comes alone."""

import subprocess
import sys

import crc32c as package
import pytest

from drumbeat.protocol.crc import crc32c

HEAVY = ("importlib.metadata", "email.message", "zipfile", "argparse")


@pytest.mark.parametrize("data", [b"", b"123456789", bytes(range(256)) * 300])
def test_it_is_the_checksum_of_the_package(data):
    assert crc32c(data) == package.crc32c(data)
    assert crc32c(data[5:], crc32c(data[:5])) == package.crc32c(data)


def test_known_value():
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("first", ["crc32c", "drumbeat.protocol.crc"])
def test_it_works_whoever_is_imported_first(first):
    second = {"crc32c": "drumbeat.protocol.crc"}.get(first, "crc32c")
    program = (
        f"import {first}, {second}; from drumbeat.protocol.crc import crc32c; print(crc32c(b'a'))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert int(shown.stdout) == package.crc32c(b"a")


def test_a_node_is_loaded_without_what_the_package_would_load():
    program = "import sys, drumbeat.server.node, drumbeat.log.store; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert not set(HEAVY) & set(shown.stdout.decode().split())
