"""Manifests: what is written is read, and what is not ours is refused by name."""

import json
from dataclasses import replace

import pytest

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.manifest import (
    FORMAT_VERSION,
    DataFile,
    Derived,
    LogPartition,
    Manifest,
    from_json,
    manifest_name,
    parse_manifest_name,
    to_json,
)

P0, P1 = LogPartition("c", 0), LogPartition("c", 1)


def data_file(source=P0, first=0, last=9):
    return DataFile(
        path=f"log_records/log_partition={source.log_partition}/{first}.parquet",
        cluster_id=source.cluster_id,
        log_partition=source.log_partition,
        first_offset=first,
        last_offset=last,
        rows=last - first + 1,
        bytes=100,
    )


def full_manifest():
    manifest = Manifest(number=7, run_id="r", created_ms=5)
    manifest = manifest.with_files("log_records", [data_file(P1), data_file(P0, 10, 19)])
    manifest = manifest.with_files("log_records", [data_file(P0)])
    manifest = manifest.with_cluster("c", 2, ["orders"])
    states = {P0: Derived(inputs="x", state=data_file()), P1: Derived(inputs="y")}
    manifest = manifest.with_derived(states, {}, ())
    return manifest.with_covered([(P0, OffsetRange(10, 20)), (P1, OffsetRange(0, 10))])


def test_what_is_written_is_read():
    manifest = full_manifest()
    assert from_json("x", to_json(manifest)) == manifest


def test_files_are_in_order_of_offsets():
    manifest = full_manifest()
    assert [file.first_offset for file in manifest.files("log_records", P0)] == [0, 10]
    assert len(manifest.files("log_records")) == 3
    assert manifest.rows("log_records") == 30
    assert manifest.files("members") == ()


def test_files_can_be_replaced():
    manifest = full_manifest()
    removed = manifest.files("log_records", P0)
    manifest = manifest.with_files("log_records", [data_file(P0, 0, 19)], removed)
    assert manifest.files("log_records") == (data_file(P0, 0, 19), data_file(P1))


def test_derived_files_take_the_place_of_open_ones_or_of_all():
    final, still_open = data_file(P0), replace(data_file(P0, 10, 12), is_open=True)
    derived = Derived(inputs="a", state=data_file(P0, 0, 9))
    manifest = Manifest().with_derived({P0: derived}, {"members": [final, still_open]}, {P0})
    grown = manifest.with_derived({P0: derived}, {"members": [data_file(P0, 10, 19)]}, ())
    assert grown.files("members") == (final, data_file(P0, 10, 19))
    anew = grown.with_derived({P0: derived}, {"members": [data_file(P0, 0, 30)]}, {P0})
    assert anew.files("members") == (data_file(P0, 0, 30),)
    other = grown.with_derived({P1: derived}, {"members": [data_file(P1)]}, {P1})
    assert other.files("members", P0) == grown.files("members")
    assert [*other.all_files()][-2:] == [derived.state, derived.state]


def test_topics_of_a_cluster_are_never_forgotten():
    manifest = Manifest().with_cluster("c", 50, ["b", "a"]).with_cluster("c", 50, ["c"])
    assert (manifest.partitions, manifest.topics) == ({"c": 50}, {"c": ("a", "b", "c")})


def test_read_offsets_grow_together():
    manifest = full_manifest().with_covered([(P0, OffsetRange(0, 10)), (P0, OffsetRange(30, 31))])
    assert manifest.covered[P0] == ((0, 20), (30, 31))


@pytest.mark.parametrize("number", [0, 1, 999_999, 1_000_000])
def test_names_carry_the_number(number):
    assert parse_manifest_name(manifest_name(number)) == number


@pytest.mark.parametrize("name", ["1.json", "000001.json.tmp", "000001", "x000001.json"])
def test_other_names_are_none_of_ours(name):
    assert parse_manifest_name(name) is None


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
def test_another_format_version_is_refused_with_what_to_do(version):
    text = json.dumps({**json.loads(to_json(full_manifest())), "format_version": version})
    with pytest.raises(WarehouseError, match=f"format version {version}.*another directory"):
        from_json("w/000007.json", text)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", json.dumps({"format_version": FORMAT_VERSION}), "null"]
)
def test_damage_names_the_file(text):
    with pytest.raises(WarehouseError, match=r"w/000007\.json is damaged"):
        from_json("w/000007.json", text)
