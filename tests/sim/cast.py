"""Who takes part: groups of different kinds, and members that come, go, hang and are replaced."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random

from sim.clients.client import Client, Surroundings
from sim.clients.member import Member
from sim.clients.outsiders import Administrator, Outsider
from sim.clients.profile import Profile
from sim.parameters import Parameters, draw_versions

LEAVE_GRACE_S = 6.0


@dataclass(frozen=True, kw_only=True)
class Company:
    """A group: what its members have in common, and what each may choose from."""

    profile: Profile
    protocol_lists: tuple[tuple[str, ...], ...]
    is_static: bool = False


EAGER = Company(
    profile=Profile(group_id="eager", topics=("t1", "t2")),
    protocol_lists=(("range", "sticky"), ("sticky", "range")),
)
COOPERATIVE = Company(
    profile=Profile(group_id="cooperative", topics=("t1",), is_cooperative=True),
    protocol_lists=(("cooperative-sticky",),),
)
STATIC = Company(
    profile=Profile(group_id="static", topics=("t1", "t3")),
    protocol_lists=(("range",), ("range", "roundrobin")),
    is_static=True,
)
CONNECT = Company(
    profile=Profile(group_id="connect", protocol_type="connect", commits=0.0),
    protocol_lists=(("default", "compatible"), ("compatible", "default")),
)
COMPANIES = (EAGER, COOPERATIVE, STATIC, CONNECT)
SIMPLE_GROUP = "simple"
GROUP_IDS = (*(company.profile.group_id for company in COMPANIES), SIMPLE_GROUP)


@dataclass
class Cast:
    around: Surroundings
    rng: Random
    parameters: Parameters
    members: list[Member] = field(default_factory=list)  # those that have not ended
    _tasks: dict[Client, asyncio.Task[None]] = field(default_factory=dict)
    _farewells: list[asyncio.Task[None]] = field(default_factory=list)
    _count: int = 0

    # -- entrances -------------------------------------------------------------------------------

    def enter_all(self) -> None:
        for company in COMPANIES:
            for _ in range(self.parameters.members_per_group):
                self.enter(company)
        for make in (self._outsider, self._outsider, self.administrator):
            self._run(make())

    def enter(
        self, company: Company, instance_id: str | None = None, *, is_calm: bool = False
    ) -> Member:
        """A new member. A static one takes an instance id, perhaps somebody else's."""
        self._count += 1
        rng = Random(f"{self.parameters.seed} member {self._count}")
        base = company.profile
        if company.is_static and instance_id is None:
            instance_id = f"{base.group_id}-i{rng.randint(0, 2)}"
        profile = replace(
            base,
            topics=base.topics if rng.random() < 0.8 else base.topics[:1],
            protocols=rng.choice(company.protocol_lists),
            group_instance_id=instance_id,
            session_timeout_ms=rng.choice((4_000, 6_000)),
            rebalance_timeout_ms=rng.choice((3_000, 8_000)),
            heartbeat_ms=rng.choice((700, 1_500)),
            join_timeout_ms=rng.choice((1_000, 13_000)),
            subscription_version=rng.randint(1, 3),
            dawdles=rng.choice((0.1, 0.3)) if company.is_static else rng.choice((0.0, 0.1)),
        )
        versions = draw_versions(
            rng, old=self.parameters.old_clients, static=instance_id is not None
        )
        name = f"{base.group_id}-m{self._count}"
        member = Member(name, rng, self.around, versions, profile.calmed() if is_calm else profile)
        self.members.append(member)
        self._run(member)
        self.around.verdict.note(f"ENTER {name} {instance_id or ''}")
        return member

    def _outsider(self) -> Outsider:
        return self._make_outsider(Outsider, "simple")

    def administrator(self) -> Outsider:
        return self._make_outsider(Administrator, "admin")

    def _make_outsider(self, kind: type[Outsider], name: str) -> Outsider:
        self._count += 1
        rng = Random(f"{self.parameters.seed} outsider {self._count}")
        versions = draw_versions(rng, old=self.parameters.old_clients, static=False)
        return kind(f"{name}{self._count}", rng, self.around, versions, (*GROUP_IDS, SIMPLE_GROUP))

    def _run(self, client: Member | Outsider) -> None:
        self._tasks[client] = asyncio.create_task(client.run())

    # -- exits -----------------------------------------------------------------------------------

    def kill(self, member: Member) -> None:
        """Without a word; what it has sent arrives all the same."""
        self.around.verdict.note(f"KILL {member.name}")
        self._end(member)
        member.disconnect()

    def dismiss(self, member: Member) -> None:
        """It leaves the group, if it can get that message through."""
        self.around.verdict.note(f"DISMISS {member.name}")
        self._end(member)
        self._farewells.append(asyncio.create_task(self._say_goodbye(member)))

    async def _say_goodbye(self, member: Member) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_GRACE_S):
                await member.leave()
        member.disconnect()

    def _end(self, client: Client) -> None:
        self._tasks.pop(client).cancel()
        self.members = [member for member in self.members if member is not client]

    def dismiss_outsiders(self) -> None:
        for client in [c for c in self._tasks if isinstance(c, Outsider)]:
            self._end(client)
            client.disconnect()

    async def close(self) -> None:
        tasks = [*self._tasks.values(), *self._farewells]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def settle_down(self) -> None:
        """No more mischief, and nobody who cannot get in."""
        for company in COMPANIES:
            for member in self.active(company.profile.group_id)[self.around.node.group_max_size :]:
                self.kill(member)
        for member in self.members:
            member.profile = member.profile.calmed()
            member.pause_s = 0.0

    # -- what happens ----------------------------------------------------------------------------

    @property
    def failures(self) -> list[BaseException]:
        """Bugs of the clients themselves."""
        ended = [task for task in self._tasks.values() if task.done() and not task.cancelled()]
        return [problem for task in ended if (problem := task.exception()) is not None]

    def company_of(self, member: Member) -> Company:
        return next(c for c in COMPANIES if c.profile.group_id == member.profile.group_id)

    def active(self, group_id: str) -> list[Member]:
        """Members that should be in the group: running, and not told to stop."""
        return [m for m in self.members if m.profile.group_id == group_id and not m.is_fenced]

    def churn(self) -> None:
        """One change of membership, of whatever kind."""
        rng = self.rng
        if not self.members or rng.random() < 0.35:
            self.enter(rng.choice(COMPANIES))
            return
        member = rng.choice(self.members)
        deeds: dict[Callable[[Member], object], float] = {
            self.kill: 2,
            self.dismiss: 2,
            self._bounce: 2,
            self._resubscribe: 1,
        }
        [deed] = rng.choices(list(deeds), list(deeds.values()))
        deed(member)

    def _bounce(self, member: Member) -> None:
        """A process is restarted; of a static one the old may still run (that is fencing)."""
        if member.profile.group_instance_id is None or self.rng.random() < 0.6:
            self.kill(member)
        self.enter(self.company_of(member), member.profile.group_instance_id)

    def usurp(self) -> None:
        """Somebody takes the instance id of a member that waits for its assignment."""
        waiting = [m for m in self.members if m.is_syncing and m.profile.group_instance_id]
        if waiting:
            member = self.rng.choice(waiting)
            self.enter(self.company_of(member), member.profile.group_instance_id)

    def _resubscribe(self, member: Member) -> None:
        member.topics = member.topics[:1] if len(member.topics) > 1 else member.profile.topics
        member.wants_rejoin = True

    def hang(self) -> None:
        """A member stops for longer than its session; when it goes on it is a zombie."""
        if self.members:
            member = self.rng.choice(self.members)
            member.pause_s = member.profile.session_timeout_ms / 1000 * self.rng.uniform(0.5, 2.5)
            self.around.verdict.note(f"HANG {member.name} for {member.pause_s:.1f} s")
