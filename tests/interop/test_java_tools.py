"""Kafka's command line tools for topics, configurations and records."""

import json
import re

import pytest

from interop.java_programs import (
    API_VERSIONS,
    CONFIGS,
    CONSOLE_CONSUMER,
    CONSOLE_PRODUCER,
    DELETE_RECORDS,
    GET_OFFSETS,
    LOG_DIRS,
    TOPICS,
    Tools,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def tools(servers):
    return Tools(servers)


def test_a_topic_from_creation_to_deletion(tools):
    topic = ("--topic", "life-of-a-topic")
    tools(TOPICS, "--create", *topic, "--partitions", "2", "--config", "retention.ms=123456")
    again = tools.attempt(TOPICS, "--create", *topic)
    assert (again.exit_code, "TopicExistsException" in again.stderr) == (1, True)
    assert tools(TOPICS, "--create", *topic, "--if-not-exists").stdout == ""
    assert ["life-of-a-topic"] in tools(TOPICS, "--list").rows

    tools(TOPICS, "--alter", *topic, "--partitions", "3")
    fewer = tools.attempt(TOPICS, "--alter", *topic, "--partitions", "1")
    assert (fewer.exit_code, "InvalidPartitionsException" in fewer.stderr) == (1, True)

    first, *partitions = tools(TOPICS, "--describe", *topic).stdout.splitlines()
    assert re.search(r"TopicId: [\w-]{22}\tPartitionCount: 3\tReplicationFactor: 1\t", first)
    assert "retention.ms=123456" in first
    assert [re.search(r"Partition: (\d)\tLeader: 1\t", line)[1] for line in partitions] == [*"012"]

    tools(TOPICS, "--delete", *topic)
    assert ["life-of-a-topic"] not in tools(TOPICS, "--list").rows
    assert tools.attempt(TOPICS, "--describe", *topic).exit_code == 1


def test_configurations_are_altered_and_described(tools):
    topic = ("--entity-type", "topics", "--entity-name", "configured")
    tools(TOPICS, "--create", "--topic", "configured", "--config", "retention.ms=1000")
    wanted = "max.message.bytes=2000,cleanup.policy=[compact,delete]"
    tools(CONFIGS, "--alter", *topic, "--add-config", wanted)
    tools(CONFIGS, "--alter", *topic, "--delete-config", "retention.ms")
    assert dynamic_configs(tools, *topic) == {
        "max.message.bytes": "2000",
        "cleanup.policy": "compact,delete",
    }
    refused = tools.attempt(CONFIGS, "--alter", *topic, "--add-config", "retention.ms=soon")
    assert (refused.exit_code, "InvalidConfigurationException" in refused.stderr) == (1, True)
    everything = tools(CONFIGS, "--describe", *topic, "--all").stdout
    assert "  retention.ms=604800000 sensitive=false synonyms={" in everything


def dynamic_configs(tools, *entity):
    described = tools(CONFIGS, "--describe", *entity).stdout
    found = dict(re.findall(r"^  (\S+?)=(\S+) sensitive=", described, re.MULTILINE))
    found.pop("min.insync.replicas", None)  # a topic has it of its own in Apache Kafka, if unasked
    return found


def test_a_broker_describes_its_configuration(tools):
    broker = ("--entity-type", "brokers", "--entity-name", "1")
    described = tools(CONFIGS, "--describe", *broker, "--all").stdout
    assert "  group.initial.rebalance.delay.ms=0 " in described


def test_what_the_console_writes_it_reads(tools):
    topic = ("--topic", "console")
    tools(TOPICS, "--create", *topic, "--partitions", "2")
    typed = "".join(f"key-{number}:value-{number}\n" for number in range(20))
    keys = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        tools(CONSOLE_PRODUCER, *topic, *keys, "--compression-codec", codec, stdin=typed)
    read = tools(
        CONSOLE_CONSUMER,
        *(*topic, "--from-beginning", "--max-messages", "100", "--timeout-ms", "20000"),
        *("--formatter-property", "print.key=true", "--formatter-property", "key.separator=:"),
    )
    assert sorted(read.stdout.splitlines()) == sorted(typed.splitlines() * 5)


def test_records_are_deleted_up_to_an_offset(tools, tmp_path):
    topic = ("--topic", "deleted-records")
    tools(TOPICS, "--create", *topic)
    tools(CONSOLE_PRODUCER, *topic, stdin="a\nb\nc\nd\n")
    assert tools(GET_OFFSETS, *topic).stdout == "deleted-records:0:4\n"

    bounds = [{"topic": "deleted-records", "partition": 0, "offset": 3}]
    order = tmp_path / "order.json"
    order.write_text(json.dumps({"partitions": bounds, "version": 1}))
    done = tools(DELETE_RECORDS, "--offset-json-file", str(order))
    assert "partition: deleted-records-0\tlow_watermark: 3" in done.stdout
    assert tools(GET_OFFSETS, *topic, "--time", "earliest").stdout == "deleted-records:0:3\n"
    left = tools(CONSOLE_CONSUMER, *topic, "--from-beginning", "--max-messages", "1")
    assert left.stdout == "d\n"


def test_log_directories_show_the_size_of_a_partition(tools):
    topic = ("--topic", "sized")
    tools(TOPICS, "--create", *topic)
    tools(CONSOLE_PRODUCER, *topic, stdin="a\n")
    described = tools(LOG_DIRS, "--describe", "--topic-list", "sized").stdout
    (broker,) = json.loads(described.splitlines()[-1])["brokers"]
    (directory,) = broker["logDirs"]
    (partition,) = directory["partitions"]
    assert (directory["error"], partition["partition"]) == (None, "sized-0")
    assert partition["size"] > 0


def test_a_broker_tells_its_api_versions(tools):
    told = tools(API_VERSIONS).stdout
    assert "JoinGroup(11): 0 to 9 [usable: 9]" in told
    assert "OffsetCommit(8): 2 to 10 [usable: 10]" in told
