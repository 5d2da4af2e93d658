"""Programs of ours on Kafka's Java client: what its tools do not call, and the order of callbacks."""

import pytest

from interop.java_programs import ASSIGNORS, compile_ours, java_command, member_command
from interop.programs import steps_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


@pytest.fixture
def client():
    return member_command


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    compile_ours(folder)
    return folder


def test_administration(classes, servers, tmp_path):
    arguments = (servers, "administered", "administered-group")
    steps = steps_of(java_command("AdminSteps", *arguments, classes=classes), tmp_path)
    print(steps)
    assert False


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_the_order_of_callbacks(classes, stage, assignor, tmp_path):
    arguments = (stage.servers, stage.topic.name, stage.group_id, ASSIGNORS[assignor])
    steps = steps_of(java_command("ConsumerSteps", *arguments, classes=classes), tmp_path)
    for s in steps.items():
        print(s)
    assert False
