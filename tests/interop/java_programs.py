"""Java: Kafka's own tools and members, and programs of ours against its client library."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from interop.availability import need
from interop.kafka_jars import TOOL_TIMEOUT_S, jars, tool_command
from interop.stage import MemberOptions

SOURCES = Path(__file__).parent / "java"
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}

TOPICS = "org.apache.kafka.tools.TopicCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"


class Ended(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def rows(self) -> list[list[str]]:
        """What was printed, as words; the tools align columns with spaces."""
        return [line.split() for line in self.stdout.splitlines() if line.strip()]

    @property
    def text(self) -> str:
        return self.stdout + self.stderr


class Tools:
    """Kafka's command line tools against one cluster."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def __call__(self, tool: str, *arguments: str, stdin: str = "") -> Ended:
        """Run one to its end, which must be a good one."""
        ended = self.attempt(tool, *arguments, stdin=stdin)
        assert ended.exit_code == 0, f"{tool} {' '.join(arguments)}: {ended.text}"
        return ended

    def attempt(self, tool: str, *arguments: str, stdin: str = "") -> Ended:
        done = subprocess.run(
            java_command(tool, "--bootstrap-server", self.servers, *arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=TOOL_TIMEOUT_S,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


def java_command(main_class: str, *arguments: str, classes: Path | None = None) -> list[str]:
    java, *command = tool_command(main_class, *arguments, more_classes=classes)
    return [java, QUIET, *command]


def member_command(options: MemberOptions) -> list[str]:
    instance = options.group_instance_id
    return java_command(
        VERIFIABLE_CONSUMER,
        *("--bootstrap-server", options.servers),
        *("--group-id", options.group_id),
        *("--topic", options.topic),
        *("--assignment-strategy", ASSIGNORS[options.assignor]),
        *("--session-timeout", str(options.session_timeout_ms)),
        *("--command-config", str(SOURCES / "member.properties")),
        *(("--group-instance-id", instance) if instance else ()),
    )


def compile_ours(classes: Path) -> None:
    """Compile the programs in java/ into the folder `classes`."""
    class_path = f"{jars()}/*"
    need("javac", purpose="our programs against Kafka's client library")
    sources = map(str, sorted(SOURCES.glob("*.java")))
    command = ["javac", "-Xlint:all", "-Werror", "-cp", class_path, "-d", str(classes), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
