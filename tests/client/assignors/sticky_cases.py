"""Groups for the sticky assignors: name, topics, members, what they had, what they get.

What members had is `A: t01 /3`: the partitions, and the generation that they had them in. The last
column is for cooperative-sticky, where what goes from one member to another waits for the next
rebalance; `=` is the same as the column before.
"""

from typing import NamedTuple

from client.assignors.groups import members, partitions
from drumbeat.client.assignors.port import MemberSubscription
from drumbeat.client.assignors.user_data import encode_sticky
from drumbeat.client.values import TopicPartition

# What Java does in these: fail, or give partitions to two members or to one that wants none.
BETTER_THAN_JAVA = ("wants nothing", "gone partitions", "stray")
_ROWS = """
fresh | t:3 u:2 | A: t u; B: t u | | A: t02 u1; B: t1 u0 | =
nothing changes | t:4 | A: t; B: t | A: t13 /1; B: t02 /1 | A: t13; B: t02 | =
one joins | t:4 | A: t; B: t; C: t | A: t02 /1; B: t13 /1 | A: t02; B: t1; C: t3 | A: t02; B: t1; C:
one leaves | t:6 | A: t; C: t | A: t05 /2; C: t13 /2 | A: t025; C: t134 | =
the topic grows | t:5 | A: t; B: t | A: t02 /1; B: t1 /1 | A: t024; B: t13 | =
a topic is new | t:2 u:2 | A: t u; B: t u | A: t1 /1; B: t0 /1 | A: t1 u0; B: t0 u1 | =
a topic is gone | t:2 | A: t u; B: t u | A: t1 u0 /1; B: t0 /1 | A: t1; B: t0 | =
claimed by both | t:4 | A: t; B: t | A: t01 /1; B: t12 /1 | A: t01; B: t23 | A: t0; B: t23
the newer claim wins | t:4 | A: t; B: t | A: t01 /1; B: t12 /2 | A: t03; B: t12 | =
low ones are kept | t:2 u:2 | A: t u; B: t u | A: t01 u01 /1 | A: t0 u0; B: t1 u1 | A: t0 u0; B:
differing | t:3 u:3 | A: t; B: t u | | A: t012; B: u012 | =
differing, kept | t:2 u:3 | A: t u; B: u | A: t01 /1; B: u012 /1 | A: t01; B: u012 | =
differing, moved | t:1 u:3 | A: t u; B: u | A: t0 /1; B: u012 /1 | A: t0 u0; B: u12 | A: t0; B: u12
wanted no more | t:2 u:2 | A: u; B: t u | A: t01 /1; B: u01 /1 | A: u01; B: t01 | A:; B:
wants nothing | t:4 | A: ; B: t | | A:; B: t0123 | =
near first | t:a,b,a,b | A@b: t; B@a: t | | A: t13; B: t02 | =
far is given up | t:a,b | A@b: t; B@a: t | A: t0 /1; B: t1 /1 | A: t1; B: t0 | A:; B:
balance over nearness | t:a,a,a,b | A@a: t; B@b: t | | A: t01; B: t23 | =
near, differing | t:a,b u:a | A@b: t; B@a: t u | | A: t1; B: t0 u0 | =
gone partitions | t:2 | A: t; B: t | A: t7 /1; B: t01 /1 | A: t1; B: t0 | A:; B: t0
stray | t:2 u:1 | A: u; B: t; C: t | A: t0 /1; B: t01 /2 | A: u0; B: t1; C: t0 | A: u0; B: t1; C:
"""


class StickyCase(NamedTuple):
    name: str
    topics: str
    group: str
    claims: str
    eager: str
    cooperative: str

    def expected(self, assignor_name: str) -> str:
        return self.eager if assignor_name == "sticky" else self.cooperative

    def members(self, assignor_name: str) -> dict[str, MemberSubscription]:
        return {
            member_id: _claiming(member, *_had(self.claims).get(member_id, ([], -1)), assignor_name)
            for member_id, member in members(self.group).items()
        }


def _cases() -> list[StickyCase]:
    lines = [[cell.strip() for cell in line.split("|")] for line in _ROWS.strip().splitlines()]
    return [StickyCase(*line[:-1], line[-2] if line[-1] == "=" else line[-1]) for line in lines]


def _had(text: str) -> dict[str, tuple[list[TopicPartition], int]]:
    claims = {}
    for line in filter(None, text.split("; ")):
        member_id, _, rest = line.partition(":")
        owned, _, generation_id = rest.partition("/")
        claims[member_id] = (partitions(owned), int(generation_id))
    return claims


def _claiming(
    member: MemberSubscription, owned: list[TopicPartition], generation_id: int, assignor_name: str
) -> MemberSubscription:
    is_sticky = assignor_name == "sticky"
    return MemberSubscription(
        topics=member.topics,
        rack_id=member.rack_id,
        user_data=encode_sticky(owned, generation_id) if is_sticky and generation_id >= 0 else None,
        owned_partitions=() if is_sticky else tuple(owned),
        generation_id=generation_id,
    )


CASES = _cases()
