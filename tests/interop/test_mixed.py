"""Clients of different languages in one group: each has to accept the plan of any other."""

import sys
from pathlib import Path

import pytest

from interop import go_programs, java_programs, node_programs
from interop.stage import Client, MemberOptions, Stage

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

PYTHON_MEMBER = Path(__file__).parent / "python_member.py"
# Who can use which assignor; each of them leads a group once.
LANGUAGES = {
    "range": ("java", "go", "node", "confluent-kafka", "kafka-python"),
    "cooperative-sticky": ("java", "go", "confluent-kafka"),
}
CASES = [(assignor, leader) for assignor, names in LANGUAGES.items() for leader in names]


def python_member_of(library: str) -> Client:
    def command(options: MemberOptions) -> list[str]:
        servers, group_id, topic, assignor, session_timeout_ms, _ = options
        program = (sys.executable, str(PYTHON_MEMBER), library)
        return [*program, servers, group_id, topic, assignor, str(session_timeout_ms)]

    return command


@pytest.fixture
def client():
    """Every member says which client it is."""


@pytest.fixture
def clients(go_binary, node_modules) -> dict[str, Client]:
    return {
        "java": java_programs.member_command,
        "go": go_programs.member_of(go_binary),
        "node": node_programs.member_of(node_modules),
        "confluent-kafka": python_member_of("confluent-kafka"),
        "kafka-python": python_member_of("kafka-python"),
    }


@pytest.mark.parametrize(("assignor", "leader"), CASES)
def test_languages_share_a_group(stage: Stage, clients, assignor, leader):
    """Whoever comes first leads; the others follow, and take over when it leaves."""
    first = stage.start(assignor, client=clients[leader])
    stage.settle(first)
    names = [name for name in LANGUAGES[assignor] if name != leader]
    others = [stage.start(assignor, client=clients[name]) for name in names]
    stage.settle(first, *others)
    stage.produce()
    stage.consume(first, *others)

    first.stop()
    stage.settle(*others)
    stage.produce()
    stage.consume(first, *others)
    stage.assert_each_record_once(first, *others)
