"""What must hold of a coordinator's volatile half at any time, whatever was asked of it."""

from collections import Counter

from drumbeat.core.classic.group import ClassicGroup
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import session_key
from drumbeat.core.classic.rebalance import join_key, sync_key
from drumbeat.core.deadline_keys import DeadlineKey
from drumbeat.core.session import Session
from drumbeat.core.state import State

IN_GENERATION = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


def check_session(state: State, session: Session) -> None:
    needed: set[DeadlineKey] = set()
    allowed: set[DeadlineKey] = set()
    for group_id, group in session.groups.items():
        assert group_id in state.groups, "a group lives that the log does not know"
        if group.state is not GroupState.DEAD:
            check_group(group)
            needed |= needed_deadlines(group)
            allowed |= {member.session_key for member in group.members.values()}
    if all(group.state is not GroupState.DEAD for group in session.groups.values()):
        assert needed <= session.deadlines.keys()
        assert session.deadlines.keys() <= needed | allowed
    assert session.parked_count == sum(group.parked_count for group in session.groups.values())


def check_group(group: ClassicGroup) -> None:
    members = group.members.keys()
    assert not group.is_idle, "an idle group is kept"
    assert (group.leader is None) == (not members)
    assert group.leader is None or group.leader in members
    assert group.joins.keys() <= members
    assert group.syncs.keys() <= members
    assert group.assignments.keys() <= members
    assert group.new_members <= members
    assert group.pending_sync <= members
    assert not group.pending_members & members
    assert group.members_peak >= len(members)
    assert group.static_members == {
        member.group_instance_id: member_id
        for member_id, member in group.members.items()
        if member.group_instance_id is not None
    }
    support = Counter(p.name for m in group.members.values() for p in m.protocols)
    assert group.protocol_support == support
    assert not members or len(members) in support.values(), "no protocol is common to all"
    check_phase(group)


def check_phase(group: ClassicGroup) -> None:
    state = group.state
    assert not group.joins or state is GroupState.PREPARING_REBALANCE
    assert not group.syncs or state is GroupState.COMPLETING_REBALANCE
    assert not group.pending_sync or state in IN_GENERATION
    assert group.leader not in group.syncs, "a leader's SyncGroup never waits"
    assert bool(group.members) or state in (GroupState.EMPTY, GroupState.PREPARING_REBALANCE)
    assert group.is_join_armed == (state is GroupState.PREPARING_REBALANCE)
    if state in IN_GENERATION:
        assert not group.new_members
        assert group.protocol_name is not None


def needed_deadlines(group: ClassicGroup) -> set[DeadlineKey]:
    """A parked request keeps a session from ending, unless its member is a new one."""
    watched = {
        member_id
        for member_id in group.members
        if member_id in group.new_members
        or (member_id not in group.joins and member_id not in group.syncs)
    }
    keys = {session_key(group.group_id, m) for m in watched | group.pending_members}
    if group.state is GroupState.PREPARING_REBALANCE:
        keys.add(join_key(group.group_id))
    if group.pending_sync:
        keys.add(sync_key(group.group_id))
    return keys
