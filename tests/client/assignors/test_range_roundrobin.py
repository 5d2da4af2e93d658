"""The two assignors that remember nothing: each row is a group and who gets what."""

import pytest

from client.assignors.groups import cluster, members, written
from drumbeat.client.assignors import assignor

RANGE = [
    ("t:4", "A: t; B: t", "A: t01; B: t23"),
    ("t:5", "A: t; B: t; C: t", "A: t01; B: t23; C: t4"),
    ("t:2", "A: t; B: t; C: t", "A: t0; B: t1; C:"),
    # each topic on its own: the first member gets the odd one of each
    ("t:3 u:3", "A: t u; B: t u", "A: t01 u01; B: t2 u2"),
    ("t:3 u:3", "A: t; B: t u", "A: t01; B: t2 u012"),
    ("t:3", "A: t missing; B: missing", "A: t012; B:"),
    ("t:0 u:1", "A: t u", "A: u0"),
    # named twice, and known though nobody wants it
    ("t:4 v:2", "A: t t; B: t", "A: t01; B: t23"),
    # static members first, by instance id
    ("t:3", "A: t; Z=i2: t; Y=i3: t", "A: t2; Y: t1; Z: t0"),
]
RANGE_WITH_RACKS = [
    ("t:a,b", "A@b: t; B@a: t", "A: t1; B: t0"),
    # without a rack of its own a member is near to everything
    ("t:a,b,a,b", "A: t; B@b: t", "A: t01; B: t23"),
    ("t:b,a,b,a", "A@a: t; B@b: t", "A: t13; B: t02"),
    # balance goes first
    ("t:a,a,a,b", "A@a: t; B@b: t", "A: t01; B: t23"),
    # every rack has everything, or no member is where a replica is: as without racks
    ("t:ab,ab", "A@b: t; B@a: t", "A: t0; B: t1"),
    ("t:a,b", "A@c: t; B@c: t", "A: t0; B: t1"),
    # co-partitioned topics stay together even where one of them is far away
    ("t:a,b u:a,b", "A@b: t u; B@a: t u", "A: t1 u1; B: t0 u0"),
    ("t:a,b u:b,a", "A@b: t u; B@a: t u", "A: t0 u0; B: t1 u1"),
    # as many partitions, but not the same members: each topic finds its own
    ("t:a,b u:b,a", "A@b: t u; B@a: t u; C@c: u", "A: t1 u0; B: t0 u1; C:"),
]
ROUNDROBIN = [
    ("t:3 u:3", "A: t u; B: t u", "A: t02 u1; B: t1 u02"),
    ("t:2", "A: t; B: t; C: t", "A: t0; B: t1; C:"),
    # whoever does not want it is passed over
    ("t:1 u:2 v:3", "A: t; B: t u; C: t u v", "A: t0; B: u0; C: u1 v012"),
    ("t:3", "A: t; Z=i2: t; Y=i3: t", "A: t2; Y: t1; Z: t0"),
    ("t:2", "A: missing; B: t t", "A:; B: t01"),
    # racks do not count
    ("t:a,b", "A@b: t; B@a: t", "A: t0; B: t1"),
]


@pytest.mark.parametrize(("topics", "group", "expected"), RANGE + RANGE_WITH_RACKS)
def test_range(topics, group, expected):
    assert written(assignor("range").assign(cluster(topics), members(group))) == expected


@pytest.mark.parametrize(("topics", "group", "expected"), ROUNDROBIN)
def test_roundrobin(topics, group, expected):
    assert written(assignor("roundrobin").assign(cluster(topics), members(group))) == expected


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_neither_remembers_anything(name):
    one = assignor(name)
    one.on_assignment([], 5)
    assert one.subscription_user_data(["t"]) is None
