"""What `drumbeat.client` offers, and that it loads no more than is used."""

import subprocess
import sys

import pytest

import drumbeat.client


@pytest.mark.parametrize("name", drumbeat.client.__all__)
def test_every_name_is_there(name: str):
    assert getattr(drumbeat.client, name).__name__ == name
    assert name in dir(drumbeat.client)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'Consumers'"):
        _ = drumbeat.client.Consumers


def test_one_client_does_not_load_the_others():
    code = (
        "import sys; from drumbeat.client import Producer, TopicPartition; "
        "print([m for m in sys.modules if m.startswith(('drumbeat.client.consumer', "
        "'drumbeat.client.admin', 'drumbeat.server'))])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"
