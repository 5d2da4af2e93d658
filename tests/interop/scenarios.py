"""What a group of any client goes through; each function is one story, told on a stage."""

from interop.stage import SHORT_SESSION_MS, Stage


def members_come_and_go(stage: Stage, assignor: str = "range") -> None:
    """Three join; one is killed and times out; one says goodbye; the last one has everything."""
    first, second = stage.start(assignor), stage.start(assignor)
    killed = stage.start(assignor, session_timeout_ms=SHORT_SESSION_MS)
    members = (first, second, killed)
    stage.settle(*members)
    stage.produce()
    stage.consume(*members)

    killed.kill()
    stage.settle(first, second)
    stage.produce()
    stage.consume(*members)

    first.stop()  # its session would last longer than we wait
    stage.settle(second)
    stage.produce()
    stage.consume(*members)
    stage.assert_each_record_once(*members)

    second.stop()
    group = stage.describe()
    assert (group.group_state, group.members) == ("Empty", ())


def static_member_bounces(stage: Stage) -> None:
    """A static member that is back in time takes its place again, and nobody else notices."""
    other = stage.start(group_instance_id="other")
    before = stage.start(group_instance_id="bounced")
    stage.settle(other, before)
    stage.produce()
    stage.consume(other, before)
    its_partitions, old_id = before.assignment, member_id(stage, "bounced")
    undisturbed = list(other.rebalances)

    before.kill()
    after = stage.start(group_instance_id="bounced")
    stage.settle(other, after)
    stage.produce()
    stage.consume(other, before, after)

    assert after.assignment == its_partitions
    assert member_id(stage, "bounced") != old_id
    assert other.rebalances == undisturbed
    stage.assert_each_record_once(other, before, after)


def static_member_is_replaced(stage: Stage, fenced: str) -> None:
    """Two with one instance id: the newer one stays, the older one is told and ends."""
    older = stage.start(group_instance_id="twin")
    stage.settle(older)
    newer = stage.start(group_instance_id="twin")
    stage.settle(newer)
    older.await_end()
    assert fenced in older.log


def only_what_moves_is_revoked(stage: Stage) -> None:
    """Cooperative: a member that stays keeps what it keeps, and reads on meanwhile."""
    first = stage.start("cooperative-sticky")
    stage.settle(first)
    stage.produce()
    stage.consume(first)

    second = stage.start("cooperative-sticky")
    stage.settle(first, second)
    assert first.revoked == second.assignment

    moved_before = first.revoked
    third = stage.start("cooperative-sticky")
    stage.settle(first, second, third)
    assert first.revoked - moved_before | second.revoked == third.assignment

    second.stop()
    stage.settle(first, third)
    stage.produce()
    stage.consume(first, second, third)
    assert third.revoked == set()
    stage.assert_each_record_once(first, second, third)


def everything_is_revoked(stage: Stage, assignor: str = "range") -> None:
    """Eager: a member that stays gives up all it has, then gets its new share."""
    first = stage.start(assignor)
    stage.settle(first)
    second = stage.start(assignor)
    stage.settle(first, second)
    assert first.revoked == stage.partitions
    assert first.assignment | second.assignment == stage.partitions


def member_id(stage: Stage, group_instance_id: str) -> str:
    (found,) = (
        member.member_id
        for member in stage.describe().members
        if member.group_instance_id == group_instance_id
    )
    return found
