"""Every (API, version), populated, both ways, against kio's reading of Kafka's schemas."""

import importlib
import io
import random
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from drumbeat.protocol.apis import APIS
from drumbeat.protocol.compiler import decoder, encoder
from drumbeat.protocol.schema import fields_of
from support.messages import populated

ROUNDS = 5
CASES = [(api, version) for api in APIS.values() for version in api.versions]


def kio_class(message: type, kind: str, version: int) -> type:
    module = message.__module__.rsplit(".", 1)[1]
    kio_module = importlib.import_module(f"kio.schema.{module}.v{version}.{kind}")
    return getattr(kio_module, message.__name__)


def kio_name(name: str, theirs: Any) -> str:
    """kio drops the unit of a timedelta; we avoid the names of tuple's methods."""
    candidates = (name, name.removesuffix("_ms"), name.rsplit("_", 1)[-1])
    return next(candidate for candidate in candidates if hasattr(theirs, candidate))


def comparable(value: Any) -> Any:
    """kio's richer types as plain wire values."""
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, timedelta):
        return round(value.total_seconds() * 1000)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return value


def assert_same(ours: Any, theirs: Any, version: int, path: str) -> None:
    for field in fields_of(type(ours)):
        if not field.is_in(version):
            continue
        mine = getattr(ours, field.name)
        other = getattr(theirs, kio_name(field.name, theirs))
        where = f"{path}.{field.name}"
        if field.type.name == "array" and mine is not None:
            assert len(mine) == len(other), where
            for mine_item, other_item in zip(mine, other, strict=True):
                if hasattr(mine_item, "_fields"):
                    assert_same(mine_item, other_item, version, where)
                else:
                    assert mine_item == comparable(other_item), where
        elif hasattr(mine, "_fields"):
            assert_same(mine, other, version, where)
        elif field.type.name == "uuid":
            # kio reads the null UUID as None
            assert mine == (comparable(other) if other is not None else bytes(16)), where
        else:
            assert mine == comparable(other), where


@pytest.mark.parametrize(("api", "version"), CASES, ids=lambda case: getattr(case, "name", case))
@pytest.mark.parametrize("kind", ["request", "response"])
def test_same_bytes_and_fields_as_kio(api, version, kind):
    message = getattr(api, kind)
    theirs = kio_class(message, kind, version)
    encode = encoder(message, version, api.is_flexible(version))
    decode = decoder(message, version, api.is_flexible(version))
    rng = random.Random(f"{api.name} {version} {kind}")
    for _ in range(ROUNDS):
        ours = populated(message, version, rng)
        data = encode(ours)
        parsed, size = entity_reader(theirs)(data, 0)
        assert size == len(data)
        assert_same(ours, parsed, version, message.__name__)
        out = io.BytesIO()
        entity_writer(theirs)(out, parsed)
        assert out.getvalue() == data
        assert decode(data, 0) == ours


def test_kio_knows_no_version_that_we_leave_out():
    """Produce 0-2 are advertised and refused; version 6 of InitProducerId is unstable."""
    left_out = {"Produce": {0, 1, 2}, "InitProducerId": {6}}
    for api in APIS.values():
        package = importlib.import_module(f"kio.schema.{api.request.__module__.rsplit('.', 1)[1]}")
        theirs = {int(name[1:]) for name in dir(package) if name[0] == "v" and name[1:].isdigit()}
        assert theirs - set(api.versions) <= left_out.get(api.name, set()), api.name
