"""Manifests: what is written is read, and what is not ours is refused by name."""

import json

import pytest

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.manifest import (
    FORMAT_VERSION,
    DataFile,
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


def test_a_table_can_be_replaced_as_a_whole():
    manifest = full_manifest().with_files("log_records", [data_file(P1, 5, 6)], is_replaced=True)
    assert manifest.files("log_records") == (data_file(P1, 5, 6),)


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


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format_version": 1}', "null"])
def test_damage_names_the_file(text):
    with pytest.raises(WarehouseError, match=r"w/000007\.json is damaged"):
        from_json("w/000007.json", text)
