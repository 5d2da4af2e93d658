"""Members of several libraries in one group: each has to accept the plan of any other."""

from collections.abc import Sequence

from groups.data_of_groups import Data, group_of
from groups.libraries import ASSIGNORS, LIBRARIES

OURS = "drumbeat"
THEIRS = tuple(library for library in LIBRARIES if library != OURS)

# Ours with one of the others: every assignor that both have.
PAIRS = [
    (theirs, assignor)
    for theirs in THEIRS
    for assignor in ASSIGNORS[theirs]
    if assignor in ASSIGNORS[OURS]
]


def share_a_group(servers: str, libraries: Sequence[str], assignor: str) -> None:
    """They come one by one, so the first one leads; then they go one by one, the leader first."""
    with Data(servers, 2 * len(libraries) + 1) as data, group_of(servers, data) as fleet:
        data.write()
        for library in libraries:
            fleet.add(LIBRARIES[library], topics=(data.name,), assignor=assignor)
            fleet.await_owners(data.partitions, when=fleet.is_shared)
        data.write()
        fleet.await_all()
        for member in list(fleet.members)[:-1]:
            fleet.stop(member)
            fleet.await_owners(data.partitions)
        data.write()


def take_turns(servers: str, theirs: str, assignor: str) -> None:
    """With ours and with theirs in the lead; both end alone with what the other has committed."""
    share_a_group(servers, (OURS, theirs), assignor)
    share_a_group(servers, (theirs, OURS), assignor)
