"""Plays a sequence of steps on both brokers and compares what they answer, step by step.

A JoinGroup or SyncGroup may be parked: that is an outcome too, and has to be the same on both
sides. Its answer is compared when a later step brings it about.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drumbeat.protocol.apis import describe_groups, heartbeat, offset_fetch
from drumbeat.protocol.apis.describe_groups import DescribedGroupMember, DescribeGroupsRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from drumbeat.protocol.errors import ErrorCode
from interop.oracle.brokers import HOUSEKEEPER, Drumbeat, Kafka
from interop.oracle.connection import ANSWER_TIMEOUT_S, Call, Client
from interop.oracle.data_steps import end_offset_step
from interop.oracle.group_steps import JoinGroup
from interop.oracle.known_differences import is_known, is_silence_known
from interop.oracle.normal import CLOSED, Plain, Signs, differences, normal
from interop.oracle.vocabulary import Group, Known, Step, Wait

UUID_CHARACTERS = 36
PROBES = 2  # one may be read together with the request, the next one after it
PARKED_S = 0.010  # for an answer to come, once the broker has surely handled the request
GRACE_S = 3.0  # for the slower broker
POLL_S = 0.002
PARKED = "<parked>"
SENT_AWAY = ErrorCode.NOT_COORDINATOR
SHOWN = 700  # characters of a message


Note = Callable[[str, int, Plain], None]  # is told API, version and answer of each comparison


class Side:
    """One sequence on one broker."""

    def __init__(self, broker: Kafka | Drumbeat, prefix: str) -> None:
        self.broker = broker
        self.client = Client("127.0.0.1", broker.port)
        self.known = Known(prefix, broker.epochs_per_restart, topic_ids=dict(broker.topic_ids))

    async def begin(self, step: Step) -> Call:
        if step.reads_committed and isinstance(self.broker, Kafka):
            await self._await_commits()
        return await self.client.begin(
            self.known.client_id(step.client),
            step.api,
            step.api_version,
            step.request(self.known),
            is_silent=step.is_silent,
        )

    async def settle(self, calls: Sequence[Call]) -> None:
        """Return once each call is answered, or surely waits for something else to happen."""
        probe = HeartbeatRequest(self.known.group(Group.MAIN), -1, "probe")
        for _ in range(PROBES):
            if all(call.is_done for call in calls):
                return
            await self.client.call(HOUSEKEEPER, heartbeat.API, 0, probe)
        if unanswered := [call.result for call in calls if not call.is_done]:
            await asyncio.wait(unanswered, timeout=PARKED_S)

    def reconnect(self) -> None:
        """After a restart, which may have moved the broker to another port."""
        self.client.close()
        self.client = Client("127.0.0.1", self.broker.port)

    def answer(self, step: Step, call: Call) -> Plain:
        if not call.is_done:
            return PARKED
        return normal(step, Signs(self.known, self.broker.port), call.result.result())

    async def _await_commits(self) -> None:
        """A fetch of stable offsets waits for every write before it."""
        for group in (Group.MAIN, Group.OTHER):
            request = OffsetFetchRequest(self.known.group(group), (), require_stable=True)
            await self.client.call_until_ok(HOUSEKEEPER, offset_fetch.API, 7, request)


@dataclass
class Exchange:
    """A step and what became of it."""

    number: int
    step: Step
    kafka: Call
    drumbeat: Call

    @property
    def is_done(self) -> bool:
        return self.kafka.is_done and self.drumbeat.is_done


class MismatchError(Exception):
    """The brokers do not agree."""


class Duel:
    """One sequence on both brokers."""

    def __init__(self, kafka: Kafka, drumbeat: Drumbeat, prefix: str, note: Note) -> None:
        self._drumbeat_broker = drumbeat
        self._note = note
        self.kafka = Side(kafka, prefix)
        self.drumbeat = Side(drumbeat, prefix)
        self._parked: list[Exchange] = []
        self._exchanges: list[Exchange] = []
        self._drawn: set[str] = set()  # member ids that Kafka has given out

    async def play(self, steps: Sequence[Step]) -> None:
        """Raises MismatchError at the first step whose answers differ."""
        for step in steps:
            if isinstance(step, Wait):
                await asyncio.sleep(step.ms / 1000)
            else:
                await self._play(step)
            await self._collect()

    def close(self) -> None:
        self.kafka.client.close()
        self.drumbeat.client.close()

    def reconnect(self) -> None:
        """Both brokers were restarted; whatever was parked is over."""
        self._parked.clear()
        for side in (self.kafka, self.drumbeat):
            side.reconnect()

    async def _play(self, step: Step) -> None:
        send = self._join(step) if isinstance(step, JoinGroup) else self._send(step)
        kafka, drumbeat = await send
        exchange = Exchange(len(self._exchanges), step, kafka, drumbeat)
        self._exchanges.append(exchange)
        if step.may_park:
            await asyncio.gather(self.kafka.settle([kafka]), self.drumbeat.settle([drumbeat]))
        else:
            await asyncio.wait([kafka.result, drumbeat.result], timeout=ANSWER_TIMEOUT_S)
        if not step.may_park or kafka.is_done or drumbeat.is_done:
            await self._agree(exchange)
            self._finish(exchange)
        else:
            self._parked.append(exchange)
        if step.writes_metadata:
            await self.kafka.broker.catch_up()
        if step.is_silent:
            await self._await_same_end(step)

    async def _send(self, step: Step) -> tuple[Call, Call]:
        kafka, drumbeat = await asyncio.gather(self.kafka.begin(step), self.drumbeat.begin(step))
        return kafka, drumbeat

    async def _await_same_end(self, step: Step) -> None:
        """A write that nobody acknowledges is seen a little later."""
        question = end_offset_step(step)
        deadline = asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S
        while asyncio.get_running_loop().time() < deadline:
            kafka, drumbeat = await self._send(question)
            answers = await asyncio.gather(kafka.result, drumbeat.result)
            if answers[0] == answers[1]:
                return
            await asyncio.sleep(POLL_S)

    # -- joining ---------------------------------------------------------------------------------

    async def _join(self, step: JoinGroup) -> tuple[Call, Call]:
        """Kafka draws the id of a new member; Drumbeat is made to draw the same one."""
        kafka = await self.kafka.begin(step)
        await self.kafka.settle([kafka])
        member_id = await self._drawn_by_kafka(step, kafka)
        if member_id is not None:
            self._drawn.add(member_id)
        known = self.drumbeat.known
        drumbeat = await self._drumbeat_broker.join(
            self.drumbeat.client,
            known.client_id(step.client),
            step.api_version,
            step.request(known),
            member_id[-UUID_CHARACTERS:] if member_id else None,
        )
        return kafka, drumbeat

    async def _drawn_by_kafka(self, step: JoinGroup, call: Call) -> str | None:
        if call.body.member_id:
            return None
        # The answer to a request that is parked will tell, but not yet.
        deadline = asyncio.get_running_loop().time() + GRACE_S
        while not call.is_done and asyncio.get_running_loop().time() < deadline:
            for member in await self._described_by_kafka(step.group):
                if member.member_id not in self._drawn and self._is_of(step, member):
                    return str(member.member_id)
            await asyncio.sleep(POLL_S)
        return getattr(call.result.result(), "member_id", None) if call.is_done else None

    async def _described_by_kafka(self, group: Group) -> Sequence[DescribedGroupMember]:
        request = DescribeGroupsRequest((self.kafka.known.group(group),))
        answer = await self.kafka.client.call(HOUSEKEEPER, describe_groups.API, 5, request)
        members: Sequence[DescribedGroupMember] = answer.groups[0].members
        return members

    def _is_of(self, step: JoinGroup, member: DescribedGroupMember) -> bool:
        instance_id = step.instance_id(self.kafka.known)
        if instance_id is not None:
            return bool(member.group_instance_id == instance_id)
        return bool(member.client_id == self.kafka.known.client_id(step.client))

    # -- answers ---------------------------------------------------------------------------------

    async def collect_last(self) -> None:
        """Those who still waited when both brokers stopped: sent away, or cut off on the way."""
        for exchange in self._parked:
            await self._agree(exchange)
            for side, call in ((self.kafka, exchange.kafka), (self.drumbeat, exchange.drumbeat)):
                answer = side.answer(exchange.step, call)
                is_sent_away = answer == CLOSED or answer["error_code"] == SENT_AWAY
                assert is_sent_away, f"{side.broker.name}: {exchange.step}: {answer}"

    async def _collect(self) -> None:
        """Compare the answers that the last step has brought to earlier ones."""
        if not self._parked:
            return
        await asyncio.gather(
            self.kafka.settle([exchange.kafka for exchange in self._parked]),
            self.drumbeat.settle([exchange.drumbeat for exchange in self._parked]),
        )
        answered = [e for e in self._parked if e.kafka.is_done or e.drumbeat.is_done]
        self._parked = [e for e in self._parked if e not in answered]
        for exchange in answered:
            await self._agree(exchange)
            self._finish(exchange)

    async def _agree(self, exchange: Exchange) -> None:
        """Wait for the slower one."""
        if self._is_silence_known(exchange):
            return
        await exchange.kafka.wait(GRACE_S)
        await exchange.drumbeat.wait(GRACE_S)

    def _finish(self, exchange: Exchange) -> None:
        self._compare(exchange)
        if exchange.is_done:
            for side, call in ((self.kafka, exchange.kafka), (self.drumbeat, exchange.drumbeat)):
                answer = call.result.result()
                if isinstance(answer, exchange.step.api.response):
                    exchange.step.learn(side.known, answer)

    def _compare(self, exchange: Exchange) -> None:
        if self._is_silence_known(exchange):
            return
        step = exchange.step
        kafka = self.kafka.answer(step, exchange.kafka)
        drumbeat = self.drumbeat.answer(step, exchange.drumbeat)
        self._note(step.api.name, step.api_version, kafka)
        found = [
            difference
            for difference in differences(kafka, drumbeat)
            if not is_known(step, difference)
        ]
        if found:
            lines = "\n".join(f"    {difference}" for difference in found)
            raise MismatchError(
                f"step {exchange.number}, {step} as v{step.api_version}:\n{lines}\n"
                f"  request       {exchange.kafka.body!s:.{SHOWN}}\n"
                f"  Apache Kafka  {kafka!s:.{SHOWN}}\n"
                f"  Drumbeat      {drumbeat!s:.{SHOWN}}"
            )

    def _is_silence_known(self, exchange: Exchange) -> bool:
        """Kafka forgets a parked request when the same member sends another one."""
        later = self._exchanges[exchange.number + 1 :]
        return not exchange.kafka.is_done and any(
            is_silence_known(exchange.drumbeat, other.kafka) for other in later
        )
