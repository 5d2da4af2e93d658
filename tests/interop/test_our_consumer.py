"""Our consumer among others, against Drumbeat and against Apache Kafka."""

import pytest

from groups.scenes_mixed import PAIRS, take_turns
from interop import python_programs, scenarios
from interop.callbacks import CALLBACKS, expected_steps
from interop.either_broker import BROKERS
from interop.java_programs import ASSIGNORS, member_command
from interop.our_steps import ConsumerSteps

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

SETTINGS = {"group.min.session.timeout.ms": "100"}
EAGER = ("range", "roundrobin", "sticky")


@pytest.fixture(scope="module", params=BROKERS)
def servers(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    with BROKERS[request.param](folder, SETTINGS) as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def client():
    return python_programs.member_of("drumbeat")


# -- alone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_members_come_and_go(stage, assignor):
    scenarios.members_come_and_go(stage, assignor)


def test_a_static_member_bounces(stage):
    scenarios.static_member_bounces(stage)


def test_a_static_member_is_replaced(stage):
    scenarios.static_member_is_replaced(stage, fenced="FENCED_INSTANCE_ID")


def test_cooperative_members_keep_what_they_keep(stage):
    scenarios.only_what_moves_is_revoked(stage)


@pytest.mark.parametrize("assignor", EAGER)
def test_eager_members_give_up_everything(stage, assignor):
    scenarios.everything_is_revoked(stage, assignor)


@pytest.mark.parametrize("assignor", CALLBACKS)
def test_the_order_of_callbacks(stage, assignor):
    """What test_java_programs.py sees Java's consumer do."""
    steps = ConsumerSteps(stage.servers, stage.topic.name, stage.group_id, assignor)
    assert steps.run() == expected_steps(assignor)


# -- with Java -----------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_ours_and_java_in_one_group(stage, assignor):
    """Each leads once, follows once, and goes on where the other has committed."""
    members = [stage.start(assignor, client=member_command), stage.start(assignor)]
    java, ours = members
    stage.settle(java, ours)
    stage.produce()
    stage.consume(java, ours)

    java.stop()
    stage.settle(ours)
    stage.produce()
    stage.consume(*members)

    members.append(stage.start(assignor, client=member_command))
    stage.settle(ours, members[-1])
    stage.produce()
    stage.consume(*members)

    ours.stop()
    stage.settle(members[-1])
    stage.produce()
    stage.consume(*members)
    stage.assert_each_record_once(*members)


def test_a_cooperative_rebalance_moves_no_more_than_it_must(stage):
    """Java keeps what it keeps when ours joins, and the other way round."""
    java = stage.start("cooperative-sticky", client=member_command)
    stage.settle(java)
    ours = stage.start("cooperative-sticky")
    stage.settle(java, ours)
    assert java.revoked == ours.assignment
    moved_before = java.revoked
    third = stage.start("cooperative-sticky", client=member_command)
    stage.settle(java, ours, third)
    assert java.revoked - moved_before | ours.revoked == third.assignment
    java.stop()
    stage.settle(ours, third)
    assert third.revoked == set()


def test_a_static_member_is_replaced_by_one_of_another_library(stage):
    """Same group.instance.id, another library: the same partitions, and nobody else notices."""
    other = stage.start(group_instance_id="other")
    before = stage.start(group_instance_id="moved", client=member_command)
    stage.settle(other, before)
    its_partitions, undisturbed = before.assignment, list(other.rebalances)
    before.kill()
    after = stage.start(group_instance_id="moved")
    stage.settle(other, after)
    assert after.assignment == its_partitions
    assert other.rebalances == undisturbed


# -- with other Python libraries -----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(("theirs", "assignor"), PAIRS)
def test_ours_and_another_library(servers, theirs, assignor):
    take_turns(servers, theirs, assignor)
