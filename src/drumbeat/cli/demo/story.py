"""What happens in the demo, scene by scene, as long as the node is up."""

from __future__ import annotations

import time
from dataclasses import dataclass

from drumbeat.cli.demo.live import LiveGroup, has_caught_up, live_group
from drumbeat.cli.demo.member import SESSION_TIMEOUT_MS
from drumbeat.cli.demo.processes import (
    MemberProcess,
    NodeProcess,
    SteadyProducer,
    wait_for_shares,
)
from drumbeat.cli.demo.telling import Teller, wait_until
from drumbeat.client import SyncAdmin
from drumbeat.client.admin import NewTopic

TOPICS = {"orders": 6, "payments": 4}
# group -> the topic that it reads
GROUPS = {"billing": "orders", "audit": "payments"}
# A demo does not wait as long as a server would: for further members, or for a lost one.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
}
AUDIT_LIBRARIES = {"kafka": "kafka-python", "drumbeat.client": "Drumbeat's own consumer"}
BREATH_S = 1.0  # of steady work between two events, so that they can be told apart in the picture


@dataclass
class Story:
    """Whoever is on stage; `close` sends all of them home, also after a failure."""

    node: NodeProcess
    audit_library: str
    tell: Teller

    def __post_init__(self) -> None:
        self._members: dict[str, list[MemberProcess]] = {group: [] for group in GROUPS}
        self._producer: SteadyProducer | None = None

    def play(self) -> list[LiveGroup]:
        self._open()
        self._two_groups()
        self._one_more()
        self._one_killed()
        self._coordinator_killed()
        self._one_leaves()
        return self._settle()

    def _open(self) -> None:
        self.tell.scene("A node starts")
        began = time.perf_counter()
        self.node.start()
        ready_ms = (time.perf_counter() - began) * 1000
        self.tell.say(f"ready at {self.node.bootstrap_servers} after {ready_ms:.0f} ms")
        with SyncAdmin(bootstrap_servers=self.node.bootstrap_servers) as admin:
            admin.create_topics(
                [NewTopic(name=name, num_partitions=count) for name, count in TOPICS.items()]
            )
        topics = ", ".join(f"{name!r} ({count} partitions)" for name, count in TOPICS.items())
        self.tell.say(f"topics {topics}; a producer begins to write to both")
        self._producer = self._start_producer()

    def _two_groups(self) -> None:
        self.tell.scene("Two consumer groups share the work")
        for name in ("billing-1", "billing-2", "audit-1", "audit-2"):
            self._join(name)
        self._tell_shares("billing", "Drumbeat's own consumer")
        self._tell_shares("audit", AUDIT_LIBRARIES[self.audit_library])

    def _one_more(self) -> None:
        self.tell.scene("A third member joins 'billing': a rebalance")
        time.sleep(BREATH_S)
        self._join("billing-3")
        self._tell_shares("billing")

    def _one_killed(self) -> None:
        self.tell.scene("A member of 'audit' is killed")
        time.sleep(BREATH_S)
        victim = self._members["audit"].pop()
        victim.kill()
        self.tell.say(
            f"{victim.name} is gone without a word; its heartbeats are missed after "
            f"{SESSION_TIMEOUT_MS / 1000:g} s, and until then nobody reads {victim.partitions}"
        )
        self._tell_shares("audit")

    def _coordinator_killed(self) -> None:
        self.tell.scene("The coordinator is killed and started again")
        time.sleep(BREATH_S)
        before = self._live()
        self.node.kill()
        self.tell.say("kill -9: members and producer get no answers, and keep trying")
        began = time.perf_counter()
        self.node.start()
        ready_ms = (time.perf_counter() - began) * 1000
        self.tell.say(f"up again after {ready_ms:.0f} ms, with groups and offsets from its log")
        wait_until(lambda: all(map(_has_committed, before, self._live())), "both groups commit")
        kept = [then.group_id for then, now in zip(before, self._live(), strict=True)
                if then.owners == now.owners]  # fmt: skip
        same = f"; {_listed(kept)} with the same members and partitions" if kept else ""
        self.tell.say(f"both groups commit again{same}")

    def _one_leaves(self) -> None:
        self.tell.scene("A member of 'billing' leaves properly")
        time.sleep(BREATH_S)
        leaver = self._members["billing"].pop(0)
        leaver.leave()
        self.tell.say(f"{leaver.name} says that it leaves, so nobody waits for its heartbeats")
        self._tell_shares("billing")

    def _settle(self) -> list[LiveGroup]:
        """The producer ends and everything is consumed: from here on the answers stand still."""
        assert self._producer is not None
        self._producer.stop()
        wait_until(self._have_caught_up, "both groups have consumed everything")
        self.tell.say(f"all {self._producer.sent:,} records that were sent are consumed")
        return self._live()

    def go_on(self) -> None:
        """For those who want to look around: the producer writes again."""
        self._producer = self._start_producer()

    def close(self) -> None:
        if self._producer is not None:
            self._producer.stop()
        for members in self._members.values():
            for member in members:
                member.leave()
        self.node.stop()

    def _start_producer(self) -> SteadyProducer:
        return SteadyProducer(self.node.bootstrap_servers, list(TOPICS))

    def _join(self, name: str) -> None:
        group = name.partition("-")[0]
        library = self.audit_library if group == "audit" else "drumbeat.client"
        servers = self.node.bootstrap_servers
        self._members[group].append(MemberProcess(library, servers, group, GROUPS[group], name))

    def _tell_shares(self, group: str, client: str = "") -> None:
        members = self._members[group]
        wait_for_shares(members, TOPICS[GROUPS[group]])
        shares = ", ".join(f"{member.name} has {member.partitions}" for member in members)
        self.tell.say(f"{group}{f' ({client})' if client else ''}: {shares}")

    def _have_caught_up(self) -> bool:
        servers = self.node.bootstrap_servers
        return all(
            has_caught_up(servers, group, topic, TOPICS[topic]) for group, topic in GROUPS.items()
        )

    def _live(self) -> list[LiveGroup]:
        return [live_group(self.node.bootstrap_servers, group) for group in GROUPS]


def _has_committed(before: LiveGroup, now: LiveGroup) -> bool:
    return now.committed != before.committed


def _listed(names: list[str]) -> str:
    return " and ".join(repr(name) for name in names)
