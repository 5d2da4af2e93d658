"""Deleting partitions: gone at once, finished after a crash, and nobody else's files touched."""

import asyncio
import os

from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from log.helpers import SETTINGS, TP, write


def names(directory):
    return sorted(name for name in os.listdir(directory) if not name.startswith("."))


async def create(directory, topic_partition=TP):
    async with LocalStore(directory) as store:
        await write(await store.acquire(topic_partition, SETTINGS), b"x")


async def delete(directory, topic_partition=TP):
    async with LocalStore(directory) as store:
        await store.delete(topic_partition)


def test_nothing_is_left(tmp_path):
    asyncio.run(create(tmp_path))
    asyncio.run(delete(tmp_path))
    assert names(tmp_path) == []


def test_the_longest_name_can_be_deleted(tmp_path):
    longest = TopicPartition("x" * 249, 99_999)
    asyncio.run(create(tmp_path, longest))
    asyncio.run(delete(tmp_path, longest))
    assert names(tmp_path) == []


def test_a_deletion_cut_short_is_finished_when_the_store_opens(tmp_path):
    asyncio.run(create(tmp_path))
    doomed = f"{TP}.{'0' * 31}f-delete"
    os.rename(tmp_path / str(TP), tmp_path / doomed)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            return store.partitions()

    assert asyncio.run(scenario()) == []
    assert names(tmp_path) == []


def test_files_of_others_survive_with_their_directory(tmp_path):
    asyncio.run(create(tmp_path))
    (tmp_path / str(TP) / "notes.txt").write_text("mine")
    asyncio.run(delete(tmp_path))
    (left,) = names(tmp_path)
    assert left.endswith("-delete")
    assert [path.name for path in (tmp_path / left).iterdir()] == ["notes.txt"]


def test_other_directories_are_neither_partitions_nor_removed(tmp_path):
    asyncio.run(create(tmp_path))
    others = [
        "lost+found",
        "snapshots",
        "orders-3.bak",
        "orders-3.f-delete",
        "__cluster_metadata-x",
    ]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / "orders-7").write_text("a file, not a directory")
    (tmp_path / "photos-2024").mkdir()
    (tmp_path / "photos-2024" / "beach.jpg").write_text("no file of a partition")

    async def scenario():
        async with LocalStore(tmp_path) as store:
            return store.partitions()

    assert asyncio.run(scenario()) == [TP]
    assert names(tmp_path) == sorted([*others, "orders-3", "orders-7", "photos-2024"])
