"""What Apache Kafka's own tools say about the groups and topics of a cluster."""

from collections.abc import Iterator
from typing import NamedTuple

from interop.java_programs import CONSUMER_GROUPS, GET_OFFSETS, GROUPS, Tools

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
ABSENT = "-"

Row = dict[str, str]
Place = tuple[str, str, int]
"""Group, topic, partition."""


class Standing(NamedTuple):
    committed: int
    log_end: int
    lag: int  # negative if more is committed than there is


class Member(NamedTuple):
    client_id: str
    host: str
    group_instance_id: str | None
    partitions: frozenset[tuple[str, int]]


class Told(NamedTuple):
    groups: dict[str, str]  # types
    states: dict[str, Row]
    standings: dict[Place, Standing]
    members: dict[tuple[str, str], Member]  # by group and member id
    ends: dict[tuple[str, int], int]


def ask(tools: Tools) -> Told:
    def described(tool: str, *what: str) -> list[Row]:
        return list(_rows(tools(tool, "--describe", "--all-groups", *what).stdout))

    members = described(CONSUMER_GROUPS, "--members", "--verbose")
    sharers = described(SHARE_GROUPS, "--members", "--verbose")
    listed = _rows(tools(GROUPS, "--list").stdout)
    states = described(CONSUMER_GROUPS, "--state", "--verbose")
    return Told(
        groups={row["GROUP"]: row["TYPE"].lower() for row in listed},
        states={row["GROUP"]: row for row in states},
        standings=dict(map(_standing, described(CONSUMER_GROUPS, "--offsets"))),
        members=dict(map(_member, (*members, *sharers))),
        ends=dict(map(_end, tools(GET_OFFSETS).stdout.splitlines())),
    )


def _rows(text: str) -> Iterator[Row]:
    """Tables, each with a header; columns are aligned with spaces."""
    header: list[str] = []
    for words in map(str.split, text.splitlines()):
        if words[:1] == ["GROUP"]:
            header = words
        elif header and len(words) > 1:
            yield dict(zip(header, words, strict=False))


def _standing(row: Row) -> tuple[Place, Standing]:
    numbers = (int(row[name]) for name in ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"))
    return (row["GROUP"], row["TOPIC"], int(row["PARTITION"])), Standing(*numbers)


def _member(row: Row) -> tuple[tuple[str, str], Member]:
    assigned = row.get("CURRENT-ASSIGNMENT") or row["ASSIGNMENT"]
    topic, _, numbers = assigned.partition(":")
    partitions = frozenset((topic, int(number)) for number in numbers.split(",") if number)
    instance = row.get("GROUP-INSTANCE-ID")
    return (row["GROUP"], row["CONSUMER-ID"]), Member(
        row["CLIENT-ID"], row["HOST"], None if instance == ABSENT else instance, partitions
    )


def _end(line: str) -> tuple[tuple[str, int], int]:
    topic, partition, offset = line.rsplit(":", 2)
    return (topic, int(partition)), int(offset)
