"""ListGroups. Numbers are rows of tests/golden/answers.jsonl."""

import pytest

from support.coordinator import Coordinator
from support.golden import answers
from support.groups import Clients, list_groups, protocols


@pytest.fixture(scope="module")
def coordinator():
    """Groups of two protocol types in all states, a simple one, and one that never had a member."""
    coordinator = Coordinator()
    for kind in ("consumer", "connect"):
        names = {"protocol_type": kind, "protocols": protocols("range")}
        scenes = {
            "stable": lambda group, n=names: stable(group, **n),
            "preparing": lambda group, n=names: preparing(group, **n),
            "completing": lambda group, n=names: group.completing("A", **n),
        }
        for name, scene in scenes.items():
            scene(Clients(coordinator, f"{kind}-{name}"))
    empty = Clients(coordinator, "empty")
    empty.leave(*empty.completing("A"))
    Clients(coordinator, "simple").commit()
    Clients(coordinator, "pending").join()
    return coordinator


def stable(group: Clients, **fields: object) -> str:
    (member_id,) = group.completing("A", **fields)
    group.sync(member_id, 1, version=4)
    return member_id


def preparing(group: Clients, **fields: object) -> None:
    stable(group, **fields)
    group.enter("B", version=3, **fields)


@pytest.mark.parametrize("row", range(847, 856))
def test_list_groups(coordinator, row):
    """The recording keeps which combinations of type, state and group type there were."""
    golden = answers()[row]
    request, version = golden["request"], golden["version"]
    states = tuple(request.get("StatesFilter", ()))
    types = tuple(request.get("TypesFilter", ()))
    groups = list_groups(coordinator, version, states, types)
    combinations = {
        str(
            (
                group.protocol_type,
                group.group_state if version >= 4 else None,
                group.group_type if version >= 5 else None,
            )
        )
        for group in groups
    }
    assert sorted(combinations) == golden["response"]["combinations"]


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\x00"])
def test_blanks_around_a_state_are_ignored_as_java_trims_them(coordinator, blank):
    empty = list_groups(coordinator, states=("Empty",))
    assert empty
    assert list_groups(coordinator, states=(f"{blank}empty{blank}",)) == empty
    assert list_groups(coordinator, states=("empty\u2003",)) == []
    assert list_groups(coordinator, types=(f"classic{blank}",)) == []


def test_every_group_once(coordinator):
    names = [group.group_id for group in list_groups(coordinator)]
    assert sorted(names) == sorted(coordinator.state.groups)
    assert len(names) == 9
