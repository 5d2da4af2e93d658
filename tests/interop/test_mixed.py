"""Clients of different languages in one group: each has to accept the plan of any other."""

import pytest

from interop.stage import Stage

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

# Who can use which assignor; each of them leads a group once.
LANGUAGES = {
    "range": ("java", "go", "node", "confluent-kafka", "kafka-python", "drumbeat"),
    "cooperative-sticky": ("java", "go", "confluent-kafka", "drumbeat"),
}
CASES = [(assignor, leader) for assignor, names in LANGUAGES.items() for leader in names]


@pytest.fixture
def client():
    """Every member says which client it is."""


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
