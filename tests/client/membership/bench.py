"""One membership on a bench: a clock that only moves when told, answers given by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drumbeat.client.assignors import assignors
from drumbeat.client.assignors.port import without_racks
from drumbeat.client.membership import (
    Action,
    AssignmentChanged,
    Callback,
    CallbackKind,
    Connect,
    Disconnect,
    Generation,
    Left,
    MarkPendingRevocation,
    Membership,
    MembershipConfig,
    Raise,
    RefreshMetadata,
    SendRequest,
)
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis.find_coordinator import Coordinator, FindCoordinatorResponse
from drumbeat.protocol.apis.heartbeat import HeartbeatResponse
from drumbeat.protocol.apis.join_group import JoinGroupResponse, JoinGroupResponseMember
from drumbeat.protocol.apis.leave_group import LeaveGroupResponse
from drumbeat.protocol.apis.sync_group import SyncGroupResponse
from drumbeat.protocol.consumer_protocol import Assignment, TopicPartitions, encode_assignment
from drumbeat.protocol.errors import ErrorCode

NODE = 7
STEPS_MAX = 20


def named(error: Exception) -> str:
    code = getattr(error, "code", None)
    return code.name if isinstance(code, ErrorCode) else str(error)


def partitions(names: str) -> frozenset[TopicPartition]:
    """ "t-0 t-1" """
    pairs = (name.rsplit("-", 1) for name in names.split())
    return frozenset(TopicPartition(topic, int(number)) for topic, number in pairs)


def text_of(action: Action) -> str:
    match action:
        case SendRequest(api=api, request=request):
            member_id = getattr(request, "member_id", "")
            text = f"{api.name}({member_id})" if api.name != "FindCoordinator" else api.name
        case Callback(kind=kind, partitions=concerned):
            text = f"{kind.name}({' '.join(map(str, concerned))})"
        case AssignmentChanged(partitions=concerned):
            text = f"assignment({' '.join(map(str, concerned))})"
        case MarkPendingRevocation(partitions=concerned):
            text = f"pending({' '.join(map(str, concerned))})"
        case RefreshMetadata(topics=topics):
            text = f"refresh({'all' if topics is None else ' '.join(sorted(topics))})"
        case Raise(error=error):
            text = f"raise {named(error)}"
        case Left(error=error, refusal=refusal):
            text = " ".join(["left", *(named(each) for each in (error, refusal) if each)])
        case Connect(coordinator=coordinator):
            text = f"connect({coordinator.node_id})"
        case Disconnect():
            text = "disconnect"
    return text


class Bench:
    def __init__(
        self,
        *names: str,
        topics: Iterable[str] = ("t",),
        counts: dict[str, int] | None = None,
        dice: float = 0.5,
        **config: Any,
    ) -> None:
        self.now_ms = 1_000
        self.config = MembershipConfig(
            **{"group_id": "g", "enable_auto_commit": False, **config},
        )
        self.membership = Membership(self.config, assignors(names or ("range",)), dice=lambda: dice)
        self.counts = {"t": 2} if counts is None else counts
        self.open: list[Action] = []
        self.said: list[str] = []
        self.take(self.membership.metadata_changed(self.metadata(), self.now_ms))
        self.take(self.membership.subscription_changed(tuple(topics), self.now_ms))

    def metadata(self) -> Any:
        return without_racks(self.counts)

    # -- inputs ----------------------------------------------------------------------------------

    def take(self, actions: list[Action]) -> list[str]:
        self.open += actions
        texts = [text_of(action) for action in actions]
        self.said += texts
        return texts

    def poll(self) -> list[str]:
        return self.take(self.membership.poll(self.now_ms))

    def tick(self) -> list[str]:
        return self.take(self.membership.tick(self.now_ms))

    def wait(self, ms: int) -> None:
        self.now_ms += ms

    def answer(self, response: Any) -> list[str]:
        """Answers the oldest request that is open."""
        request = self.take_open(SendRequest)
        return self.take(self.membership.on_response(request.id, response, self.now_ms))

    def done(self, error: Exception | None = None) -> list[str]:
        callback = self.take_open(Callback)
        return self.take(self.membership.callback_done(callback.id, error, self.now_ms))

    def refreshed(self, error: Exception | None = None) -> list[str]:
        refresh = self.take_open(RefreshMetadata)
        answer = error or self.metadata()
        return self.take(self.membership.on_refresh(refresh.id, answer, self.now_ms))

    def leave(self, **options: Any) -> list[str]:
        return self.take(self.membership.leave("enough", self.now_ms, **options))

    def commit_answered(self, code: int, sent: Generation | None = None) -> Any:
        generation = self.membership.generation if sent is None else sent
        outcome, actions = self.membership.on_commit(code, generation, self.now_ms)
        self.take(actions)
        return outcome

    def take_open(self, kind: type[Any]) -> Any:
        found = next(action for action in self.open if isinstance(action, kind))
        self.open.remove(found)
        return found

    def sent(self, api: str) -> SendRequest:
        """The newest request to that API."""
        return next(
            action
            for action in reversed(self.open)
            if isinstance(action, SendRequest) and action.api.name == api
        )

    # -- ways into each state --------------------------------------------------------------------

    def find(self) -> None:
        self.poll()
        assert self.answer(found()) == [f"connect({NODE})"]

    def start_join(self) -> None:
        self.find()
        assert self.poll() == ["JoinGroup()"]

    def start_sync(self, member_id: str = "m1", generation_id: int = 5, **fields: Any) -> None:
        self.start_join()
        assert self.answer(joined(member_id, generation_id, **fields)) == [
            f"SyncGroup({member_id})"
        ]

    def settle(self, owned: str = "t-0 t-1", **fields: Any) -> None:
        """Stable, as a follower that owns these."""
        self.start_sync(**fields)
        self.answer(synced(owned))
        assert self.poll()[-1] == text_of(
            Callback(id=0, kind=CallbackKind.ASSIGNED, partitions=tuple(sorted(partitions(owned))))
        )
        self.done()
        assert self.poll() == []
        assert self.membership.is_active

    def start_heartbeat(self) -> None:
        self.wait(self.config.heartbeat_interval_ms)
        assert self.tick() == ["Heartbeat(m1)"]

    # -- what follows ----------------------------------------------------------------------------

    def story(self) -> str:
        """What poll() leads to, until it asks the network something or raises.

        Callbacks end well and at once; "wait" is where only time helps.
        """
        words: list[str] = []
        for _ in range(STEPS_MAX):
            said = self.poll()
            words += said
            if any(word.startswith("raise") or "Group" in word or "Coord" in word for word in said):
                return " ".join(words)
            if any(isinstance(action, Callback) for action in self.open):
                words += self.done()
            elif any(isinstance(action, RefreshMetadata) for action in self.open):
                words += self.refreshed()
            elif (at_ms := self.membership.next_poll_ms) is not None and at_ms > self.now_ms:
                words.append("wait")
                self.now_ms = at_ms
            else:
                return " ".join([*words, "nothing"])
        raise AssertionError(f"no end of {words}")


def found(**fields: Any) -> FindCoordinatorResponse:
    entry = {"key": "g", "node_id": NODE, "host": "b", "port": 9, **fields}
    return FindCoordinatorResponse(coordinators=(Coordinator(**entry),))


def joined(
    member_id: str = "m1", generation_id: int = 5, leader: str = "other", **fields: Any
) -> JoinGroupResponse:
    return JoinGroupResponse(
        **{
            "generation_id": generation_id,
            "member_id": member_id,
            "leader": leader,
            "protocol_type": "consumer",
            "protocol_name": "range",
            **fields,
        }
    )


def joined_by(*metadata: tuple[str, bytes]) -> tuple[JoinGroupResponseMember, ...]:
    return tuple(JoinGroupResponseMember(member_id, None, blob) for member_id, blob in metadata)


def synced(owned: str = "", **fields: Any) -> SyncGroupResponse:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions(owned)):
        by_topic.setdefault(topic, []).append(number)
    assigned = tuple(TopicPartitions(topic, tuple(each)) for topic, each in by_topic.items())
    return SyncGroupResponse(assignment=encode_assignment(Assignment(assigned)), **fields)


def refused(code: int) -> dict[str, Any]:
    """A response with this error code, by API."""
    return {
        "FindCoordinator": found(error_code=code),
        "JoinGroup": JoinGroupResponse(error_code=code, member_id="given"),
        "SyncGroup": SyncGroupResponse(error_code=code),
        "Heartbeat": HeartbeatResponse(error_code=code),
        "LeaveGroup": LeaveGroupResponse(error_code=code),
    }
