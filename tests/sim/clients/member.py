"""A group member as the Java consumer is one: join, sync, heartbeat, commit, and begin again.

Eager members give everything up before they join; cooperative ones keep what they have. A static
member has an instance id and goes without saying goodbye. Protocol types other than "consumer"
carry blobs that only their members understand.
"""

import asyncio
from collections.abc import Mapping
from random import Random

from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE
from drumbeat.protocol.errors import ErrorCode
from sim.clients.assignor import Wish, cooperative_plan, eager_plan
from sim.clients.blobs import read_share, read_wish, write_share, write_wish
from sim.clients.client import RETRIABLE, Client, Surroundings
from sim.clients.profile import Profile
from sim.history import Operation
from sim.messages import Committer, commit_errors
from sim.network import Lost
from sim.topics import TopicPartition

NO_GENERATION = -1


class Rejoin(Exception):  # noqa: N818 - what to do
    """The generation is over for this member."""


class FencedOff(Exception):  # noqa: N818 - what happened
    """Another process has this member's instance id: end of the line."""


class Refused(Exception):  # noqa: N818 - what happened
    """The group does not want this member now."""


class Member(Client):
    def __init__(
        self,
        name: str,
        rng: Random,
        around: Surroundings,
        versions: Mapping[int, int],
        profile: Profile,
    ) -> None:
        super().__init__(name, rng, around, versions)
        self.profile = profile
        self.topics = profile.topics
        self.member_id = ""
        self.generation_id = NO_GENERATION
        self._former_generation_id = NO_GENERATION
        self.owned: list[TopicPartition] = []
        self.is_working = False  # has an assignment of its generation
        self.is_syncing = False
        self.is_fenced = False
        self.planned_topics: tuple[str, ...] | None = None  # if this generation's plan is its own
        self._planned_on: list[TopicPartition] = []
        self.pause_s = 0.0  # how long to hang before the next step
        self.wants_rejoin = False

    async def run(self) -> None:
        while not self.is_fenced:
            try:
                await self._join_and_sync()
                await self._work()
            except Rejoin:
                continue
            except Lost:
                await self.back_off()
            except Refused:
                self._forget_id()
                await asyncio.sleep(self.rng.uniform(1.0, 3.0))
            except FencedOff:
                self.is_fenced = True
                self._stop_working()
                self.disconnect()

    # -- the rebalance ---------------------------------------------------------------------------

    async def _join_and_sync(self) -> None:
        self.is_working = False
        self.planned_topics = None
        if not self.profile.is_cooperative:
            self.owned = []
        joined = await self._join()
        self._former_generation_id = self.generation_id
        self.member_id, self.generation_id = joined.member_id, joined.generation_id
        await self._hang()
        if self.rng.random() < self.profile.dawdles:
            await self._dawdle()
        operation = await self._sync(joined)
        self._react(operation.response.error_code)
        self._take(operation.response.assignment)
        if self.owned:
            await self.fetch(self.profile.group_id, self.owned)

    async def _join(self) -> JoinGroupResponse:
        while True:
            await self._hang()
            operation = await self.call(self._join_request(), self.profile.join_timeout_ms)
            response: JoinGroupResponse = operation.response
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                continue
            self._react(response.error_code)
            return response

    def _join_request(self) -> JoinGroupRequest:
        profile = self.profile
        return JoinGroupRequest(
            group_id=profile.group_id,
            session_timeout_ms=profile.session_timeout_ms,
            rebalance_timeout_ms=profile.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=profile.group_instance_id,
            protocol_type=profile.protocol_type,
            protocols=tuple(
                JoinGroupRequestProtocol(name, self._metadata()) for name in profile.protocols
            ),
            reason=f"as {self.name} sees it",
        )

    def _metadata(self) -> bytes:
        profile = self.profile
        if profile.protocol_type != PROTOCOL_TYPE:
            return b"\xff" + profile.protocol_type.encode()
        wish = Wish(self.topics)
        if profile.is_cooperative:
            wish = Wish(self.topics, tuple(self.owned), self.generation_id)
        return write_wish(wish, profile.subscription_version)

    async def _sync(self, joined: JoinGroupResponse) -> Operation:
        self.is_syncing = True
        try:
            return await self.call(self._sync_request(joined), self.profile.join_timeout_ms)
        finally:
            self.is_syncing = False

    def _sync_request(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        profile = self.profile
        is_leader = joined.leader == joined.member_id and not joined.skip_assignment
        return SyncGroupRequest(
            group_id=profile.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=profile.group_instance_id,
            protocol_type=profile.protocol_type,
            protocol_name=joined.protocol_name,
            assignments=self._plan(joined) if is_leader else (),
        )

    def _plan(self, joined: JoinGroupResponse) -> tuple[SyncGroupRequestAssignment, ...]:
        """Every plan bears a token, so that its shares can be told from those of another."""
        token = f"plan {self.around.history.token()}".encode()
        if self.profile.protocol_type != PROTOCOL_TYPE:
            return tuple(
                SyncGroupRequestAssignment(m.member_id, token + m.member_id.encode())
                for m in joined.members
            )
        wishes = {m.member_id: read_wish(m.metadata) for m in joined.members}
        topics = {topic for wish in wishes.values() for topic in wish.topics}
        self.planned_topics = tuple(sorted(topics))
        partitions = self._planned_on = self.around.topics.partitions(self.planned_topics)
        make_plan = cooperative_plan if self.profile.is_cooperative else eager_plan
        return tuple(
            SyncGroupRequestAssignment(member_id, write_share(share, token))
            for member_id, share in make_plan(wishes, partitions).items()
        )

    def _take(self, blob: bytes) -> None:
        """Begin to work on a new assignment; a cooperative member first gives up the rest."""
        self.is_working = True
        self.around.verdict.note(f"{self.name} works in generation {self.generation_id}")
        if self.profile.protocol_type != PROTOCOL_TYPE or not blob:
            self.owned = []
            return
        assigned = read_share(blob)
        revoked = [tp for tp in self.owned if tp not in assigned]
        self.owned = assigned
        if self.profile.is_cooperative and revoked:
            self.around.verdict.sometimes("cooperative member gave partitions up")
            raise Rejoin

    # -- between rebalances ----------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(self.profile.heartbeat_ms / 1000 * self.rng.uniform(0.8, 1.1))
            try:
                await self._turn()
            except Lost:
                await self.back_off()

    async def _turn(self) -> None:
        has_hung = await self._hang()
        if self.rng.random() < 0.05 and self._former_generation_id != NO_GENERATION:
            await self._speak_too_late()
        if self.wants_rejoin or self._have_topics_changed():
            self.wants_rejoin = False
            raise Rejoin
        if self.owned and (has_hung or self.rng.random() < self.profile.commits):
            await self.commit_owned()
        operation = await self.call(self._heartbeat_request())
        if operation.response.error_code == ErrorCode.REBALANCE_IN_PROGRESS and self.owned:
            await self.commit_owned()
        self._react(operation.response.error_code)

    async def _speak_too_late(self) -> None:
        """What a thread of it has to say that did not notice the last rebalance."""
        profile = self.profile
        generation_id = self._former_generation_id
        beat = self._heartbeat_request()._replace(generation_id=generation_id)
        await self.call(beat)
        who = Committer(profile.group_id, generation_id, self.member_id, profile.group_instance_id)
        await self.commit(who, self.around.topics.all_partitions()[:1])

    def _have_topics_changed(self) -> bool:
        """Leaders look after that, and join again."""
        if self.planned_topics is None:
            return False
        return self._planned_on != self.around.topics.partitions(self.planned_topics)

    async def commit_owned(self) -> Operation:
        chosen = self.rng.sample(self.owned, self.rng.randint(1, len(self.owned)))
        return await self._commit(sorted(chosen))

    async def _commit(self, partitions: list[TopicPartition]) -> Operation:
        profile = self.profile
        who = Committer(
            profile.group_id, self.generation_id, self.member_id, profile.group_instance_id
        )
        operation = await self.commit(who, partitions)
        errors = set(commit_errors(operation, self.around.topics).values())
        for error_code in sorted(errors - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}):
            if error_code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_ID):
                self._react(error_code)
        return operation

    def _heartbeat_request(self) -> HeartbeatRequest:
        profile = self.profile
        return HeartbeatRequest(
            profile.group_id, self.generation_id, self.member_id, profile.group_instance_id
        )

    async def _dawdle(self) -> None:
        """Alive, and even committing, but not in a hurry to sync."""
        for _ in range(1 + self.profile.rebalance_timeout_ms // self.profile.heartbeat_ms):
            await asyncio.sleep(self.profile.heartbeat_ms / 1000)
            if self.rng.random() < 0.3:
                await self._commit(self.around.topics.all_partitions()[:1])
            operation = await self.call(self._heartbeat_request())
            self._react(operation.response.error_code)

    async def leave(self) -> None:
        """Say goodbye, and do not mind if nobody hears it."""
        self._stop_working()
        if not self.member_id or self.profile.group_instance_id is not None:
            return
        try:
            await self.call(leave_request(self.profile.group_id, self.member_id))
        except Lost:
            return

    # -- what happens to it ----------------------------------------------------------------------

    def _react(self, error_code: int) -> None:
        """What an answer means for membership; returns if it means nothing."""
        if error_code == ErrorCode.NONE:
            return
        if error_code in RETRIABLE:
            raise Lost(ErrorCode(error_code).name)
        if error_code == ErrorCode.FENCED_INSTANCE_ID:
            raise FencedOff
        if error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._forget_id()
        if error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self._forget_generation()
        elif error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            raise Refused(ErrorCode(error_code).name)
        raise Rejoin

    async def _hang(self) -> bool:
        """The process stops for a while: a long collection, a suspended machine."""
        pause_s, self.pause_s = self.pause_s, 0.0
        if pause_s:
            await asyncio.sleep(pause_s)
        return bool(pause_s)

    def _forget_id(self) -> None:
        self.member_id = ""

    def _forget_generation(self) -> None:
        self.generation_id = NO_GENERATION
        self.owned = []

    def _stop_working(self) -> None:
        self.is_working = False
        self.owned = []


def leave_request(
    group_id: str, member_id: str, group_instance_id: str | None = None
) -> LeaveGroupRequest:
    """Says it in both ways, of which each version knows one."""
    return LeaveGroupRequest(
        group_id=group_id,
        member_id=member_id,
        members=(MemberIdentity(member_id, group_instance_id, "leaving"),),
    )
