"""Requests of every API with random damage: refused or answered, never a failure of ours."""

import logging
import os
import random

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS
from drumbeat.runtime.handlers import HANDLERS
from support.hostile import assert_served, exchange
from support.messages import populated
from support.wire import Wire, request_frame

SEED = int(os.environ.get("FUZZ_SEED", "0"))
FRAMES = int(os.environ.get("FUZZ_FRAMES", "3000"))
FRAMES_PER_CONNECTION = 3


def test_damaged_requests_of_every_api(cluster, caplog):
    rng = random.Random(SEED)
    apis = [APIS[key] for key in HANDLERS]
    with caplog.at_level(logging.INFO):
        for number in range(FRAMES // FRAMES_PER_CONNECTION):
            api = apis[number % len(apis)]
            frames = [damaged(api, rng) for _ in range(FRAMES_PER_CONNECTION)]
            exchange(cluster.bootstrap_servers, b"".join(frames))
            assert_no_failure(caplog, api, frames)
        with Wire(cluster.bootstrap_servers) as wire:
            assert_served(wire)


def damaged(api: Api, rng: random.Random) -> bytes:
    """A frame whose length is right and whose content is not, most of the time."""
    version = rng.choice(api.versions)
    whole = request_frame(api, version, populated(api.request, version, rng))
    content = bytearray(whole[4:])
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        rng.choice(DAMAGES)(content, rng)
    return len(content).to_bytes(4, "big") + content


def set_byte(content: bytearray, rng: random.Random) -> None:
    if len(content) > 10:
        content[rng.randrange(10, len(content))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))


def set_int32(content: bytearray, rng: random.Random) -> None:
    if len(content) > 14:
        place = rng.randrange(10, len(content) - 4)
        value = rng.choice((-1, -2, 0, 1, 2**31 - 1, -(2**31)))
        content[place : place + 4] = value.to_bytes(4, "big", signed=True)


def truncate(content: bytearray, rng: random.Random) -> None:
    del content[rng.randrange(len(content) + 1) :]


def insert(content: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(content) + 1)
    content[place:place] = rng.randbytes(rng.choice((1, 4, 40)))


def cut_out(content: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(content) + 1)
    del content[place : place + rng.choice((1, 2, 4, 30))]


DAMAGES = (set_byte, set_byte, set_int32, truncate, insert, cut_out)


def assert_no_failure(caplog, api: Api, frames: list[bytes]) -> None:
    failures = [r for r in caplog.records if r.levelno > logging.WARNING]
    sent = [frame.hex() for frame in frames]
    assert not failures, f"{api.name}: {failures[0].getMessage()} {failures[0].exc_info} {sent}"
    caplog.clear()
