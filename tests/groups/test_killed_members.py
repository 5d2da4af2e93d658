"""Members whose process is stopped for longer than a session, and members that are killed."""

import pytest

from groups.data_of_groups import Data, group_of
from groups.libraries import LIBRARIES
from groups.member_process import ProcessMember

pytestmark = pytest.mark.clients

SESSION_MS = 1500


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_silent_member_is_out_and_may_come_back(servers, library):
    with Data(servers, 4) as data, group_of(servers, data) as fleet:
        data.write()
        joining = {"topics": (data.name,), "session_ms": SESSION_MS}
        survivor = fleet.add(LIBRARIES[library], **joining)
        victim = fleet.add(ProcessMember.of(library), **joining)
        fleet.await_owners(data.partitions, when=fleet.is_shared)
        fleet.await_all()

        victim.suspend()
        fleet.await_owners(data.partitions, among=[survivor])
        data.write()
        fleet.await_all()
        victim.wake()
        fleet.await_owners(data.partitions, when=lambda: victim.assignment)
        data.write()
        fleet.await_all()

        victim.kill()
        fleet.members.remove(victim)
        fleet.await_owners(data.partitions)
        data.write()
