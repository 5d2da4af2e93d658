"""L1 to L7: once nothing goes wrong any more, groups settle, and stay settled.

The bounds count from the moment of healing.
"""

import asyncio

from drumbeat.protocol.apis.describe_groups import DescribedGroup, DescribeGroupsRequest
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE
from drumbeat.protocol.errors import ErrorCode
from sim.cast import COMPANIES, COOPERATIVE, GROUP_IDS, Cast, Company
from sim.clients.member import Member
from sim.messages import NO_OFFSET, commit_errors, committed, fetched
from sim.node import Node
from sim.parameters import RETENTION_MINUTES, SWEEP_INTERVAL_MS

# The longest session and rebalance timeouts, twice: a dead member may first have to be missed in
# one rebalance to be dropped in the next. A request under way may be waited for as well.
SETTLE_S = 2 * (6.0 + 8.0) + 13.0
QUIET_S = 15.0
ANSWER_S = 1.0
GENERATIONS_PER_CHANGE = {COOPERATIVE.profile.group_id: 2}


class Calm:
    def __init__(self, cast: Cast, node: Node) -> None:
        self._cast = cast
        self._node = node
        self._verdict = cast.around.verdict
        self._admin = cast.administrator()

    async def check(self) -> None:
        self._cast.dismiss_outsiders()
        self._cast.settle_down()
        await asyncio.sleep(SETTLE_S)
        for company in COMPANIES:
            await self._check_settled(company)
        await self._check_quiet()
        await self._check_one_change()
        await self._check_progress()
        await self._check_expiry()

    def _violate(self, law: str, what: str) -> None:
        self._verdict.violate(law, what)

    # -- L1, L2, L3, L7 --------------------------------------------------------------------------

    async def _check_settled(self, company: Company) -> None:
        group_id = company.profile.group_id
        members = self._cast.active(group_id)
        described = await self._describe(group_id)
        if not members:
            if described.members:
                self._violate("L7", f"{group_id} has dead members: {described}")
            return
        generations = {member.generation_id for member in members}
        if len(generations) > 1 or not all(member.is_working for member in members):
            states = [(m.name, m.generation_id, m.is_working) for m in members]
            self._violate("L1", f"{group_id} has not settled: {states}, {described}")
        ids = {member.member_id for member in members}
        if {m.member_id for m in described.members} != ids or described.group_state != "Stable":
            self._violate("L7", f"{group_id} should be {sorted(ids)}, but is {described}")
        if company.profile.protocol_type == PROTOCOL_TYPE:
            self._check_owned(group_id, members)

    def _check_owned(self, group_id: str, members: list[Member]) -> None:
        # A leader that came back without a rebalance does not know what was planned, and nobody
        # knows of a subscription that came in that way: both as in Kafka.
        planner = next((member for member in members if member.planned_topics is not None), None)
        if planner is None or planner.planned_topics is None:
            return
        owned = sorted(tp for member in members for tp in member.owned)
        wanted = self._cast.around.topics.partitions(planner.planned_topics)
        if owned != wanted:
            self._violate("L2", f"{group_id} owns {owned}, not {wanted}")

    async def _describe(self, group_id: str) -> DescribedGroup:
        operation = await self._admin.call(DescribeGroupsRequest((group_id,)))
        described: DescribedGroup = operation.response.groups[0]
        return described

    # -- L5 --------------------------------------------------------------------------------------

    async def _check_quiet(self) -> None:
        """Nothing changes, so nobody rebalances, and every request is answered at once."""
        before = self._generations()
        await asyncio.sleep(QUIET_S)
        if self._generations() != before:
            self._violate("L5", f"rebalanced for no reason: {before}, now {self._generations()}")
        unanswered = self._unanswered()
        await asyncio.sleep(ANSWER_S)
        if hanging := unanswered & self._unanswered():
            self._violate("L3", f"not answered: {sorted(hanging)}")

    def _unanswered(self) -> set[tuple[int, int]]:
        return {(shard.index, request) for shard in self._node.shards for request in shard._waiting}

    async def _check_one_change(self) -> None:
        """One member more or less: one new generation, or two if it takes giving up first."""
        before = self._generations()
        for company in COMPANIES:
            members = self._cast.active(company.profile.group_id)
            if len(members) > 1 and not company.is_static:
                self._cast.dismiss(members[0])
            elif members and len(members) < self._node.group_max_size:
                self._cast.enter(company, "static-i9" if company.is_static else None, is_calm=True)
        await asyncio.sleep(SETTLE_S)
        for company in COMPANIES:
            await self._check_settled(company)
            group_id = company.profile.group_id
            steps = self._generations().get(group_id, 0) - before.get(group_id, 0)
            if group_id in before and steps > GENERATIONS_PER_CHANGE.get(group_id, 1):
                self._violate("L5", f"{group_id}: {steps} generations for one change")

    def _generations(self) -> dict[str, int]:
        return {m.profile.group_id: m.generation_id for m in self._cast.members if m.is_working}

    # -- L6 --------------------------------------------------------------------------------------

    async def _check_progress(self) -> None:
        """Whoever owns something can commit it, and everybody sees that."""
        for member in self._cast.members:
            if member.is_fenced or not member.owned:
                continue
            operation = await member.commit_owned()
            topics = self._cast.around.topics
            if set(commit_errors(operation, topics).values()) != {ErrorCode.NONE}:
                self._violate("L6", f"{operation}: {operation.response}")
            wanted = committed(operation, topics)
            seen = await self._admin.fetch(member.profile.group_id, list(wanted))
            found = fetched(seen, topics).positions
            if any(found[tp].offset < position.offset for tp, position in wanted.items()):
                self._violate("L6", f"{operation} committed {wanted}, {seen} found {found}")

    # -- the end ---------------------------------------------------------------------------------

    async def _check_expiry(self) -> None:
        """Everybody goes. In time so do all offsets, and all groups."""
        for member in self._cast.members:
            self._cast.kill(member)
        minutes_s = RETENTION_MINUTES * 60.0
        await asyncio.sleep(SETTLE_S + minutes_s + 3 * SWEEP_INTERVAL_MS / 1000)
        left = [group_id for shard in self._node.shards for group_id in shard._durable.groups]
        if left:
            self._violate("S3", f"nobody is there, but these groups have not expired: {left}")
        for group_id in GROUP_IDS:
            operation = await self._admin.fetch(group_id, None)
            positions = fetched(operation, self._cast.around.topics).positions
            if any(position.offset != NO_OFFSET for position in positions.values()):
                self._violate("S3", f"{group_id} still has offsets: {operation.response}")
        self._verdict.sometimes("everything expired in the end")
