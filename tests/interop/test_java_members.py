"""Groups of Java consumers: Kafka's VerifiableConsumer, killed, bounced and stopped."""

import pytest

from interop import scenarios
from interop.java_programs import VERIFIABLE_PRODUCER, java_command, member_command
from interop.programs import Program

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


@pytest.fixture
def client():
    return member_command


def test_members_come_and_go(stage):
    scenarios.members_come_and_go(stage)


def test_a_static_member_bounces(stage):
    scenarios.static_member_bounces(stage)


def test_a_static_member_is_replaced(stage):
    scenarios.static_member_is_replaced(stage, fenced="FencedInstanceIdException")


def test_cooperative_members_keep_what_they_keep(stage):
    scenarios.only_what_moves_is_revoked(stage)


def test_eager_members_give_up_everything(stage):
    scenarios.everything_is_revoked(stage)


def test_what_a_producer_has_acknowledged_is_read(stage, tmp_path):
    member = stage.start()
    stage.settle(member)
    command = java_command(
        VERIFIABLE_PRODUCER,
        *("--bootstrap-server", stage.servers),
        *("--topic", stage.topic.name),
        *("--max-messages", "200"),
        *("--repeating-keys", "20"),
    )
    with Program(command, tmp_path) as producer:
        producer.finish()
    sent = producer.named("producer_send_success")
    stage.produced.update((event["topic"], event["partition"], event["offset"]) for event in sent)
    assert len(sent) == stage.produced.total() == 200
    stage.consume(member)
    stage.assert_each_record_once(member)
