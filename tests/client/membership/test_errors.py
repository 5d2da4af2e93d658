"""Every error code at every step: what becomes of the member, and what it does next.

A row says: the error, the coordinator (kept or lost), the member's state and generation, and what
the polls after it lead to. Codes without a row are raised to the application.
"""

import pytest

from client.membership.bench import Bench, found, joined, refused
from drumbeat.client.errors import RETRIABLE, NodeDisconnected, RequestTimedOut
from drumbeat.client.errors import UnsupportedVersionError as Unsupported
from drumbeat.client.membership import CommitEffect
from drumbeat.protocol.errors import ErrorCode

ERRORS = [code for code in ErrorCode if code is not ErrorCode.NONE]

# step -> rows. All but the first JoinGroup: m1 owns t-0 and t-1 since generation 5, cooperatively
# unless the step says eager.
ROWS = {
    "JoinGroup": """
        14  kept  preparing_rebalance  -1/     wait JoinGroup()
        15  lost  preparing_rebalance  -1/     FindCoordinator
        16  lost  preparing_rebalance  -1/     FindCoordinator
        25  kept  unjoined             -1/     JoinGroup()
        27  kept  preparing_rebalance  -1/     JoinGroup()
        79  kept  preparing_rebalance  -1/given  JoinGroup(given)
        82  kept  unjoined             -1/     raise FENCED_INSTANCE_ID
        *   kept  preparing_rebalance  -1/     raise *
    """,
    "JoinGroup again": """
        14  kept  preparing_rebalance  5/m1    wait JoinGroup(m1)
        15  lost  preparing_rebalance  5/m1    FindCoordinator
        16  lost  preparing_rebalance  5/m1    FindCoordinator
        25  kept  unjoined             -1/     LOST(t-0 t-1) assignment() JoinGroup()
        27  kept  preparing_rebalance  5/m1    JoinGroup(m1)
        79  kept  preparing_rebalance  -1/given  JoinGroup(given)
        82  kept  unjoined             -1/     LOST(t-0 t-1) assignment() raise FENCED_INSTANCE_ID
        *   kept  preparing_rebalance  5/m1    raise *
    """,
    "SyncGroup": """
        14  kept  completing_rebalance  6/m1   wait JoinGroup(m1)
        15  lost  completing_rebalance  6/m1   FindCoordinator
        16  lost  completing_rebalance  6/m1   FindCoordinator
        22  kept  unjoined              -1/m1  LOST(t-0 t-1) assignment() JoinGroup(m1)
        25  kept  unjoined              -1/    LOST(t-0 t-1) assignment() JoinGroup()
        27  kept  completing_rebalance  6/m1   JoinGroup(m1)
        82  kept  unjoined              -1/    LOST(t-0 t-1) assignment() raise FENCED_INSTANCE_ID
        *   kept  completing_rebalance  6/m1   raise *
    """,
    "Heartbeat": """
        14  kept  stable    5/m1   nothing
        15  lost  stable    5/m1   FindCoordinator
        16  lost  stable    5/m1   FindCoordinator
        22  kept  unjoined  -1/m1  LOST(t-0 t-1) assignment() JoinGroup(m1)
        25  kept  unjoined  -1/    LOST(t-0 t-1) assignment() JoinGroup()
        27  kept  stable    5/m1   JoinGroup(m1)
        82  kept  unjoined  -1/    LOST(t-0 t-1) assignment() raise FENCED_INSTANCE_ID
        *   kept  stable    5/m1   raise *
    """,
    "Heartbeat eager": """
        14  kept  stable    5/m1   nothing
        15  lost  stable    5/m1   FindCoordinator
        16  lost  stable    5/m1   FindCoordinator
        22  kept  unjoined  -1/m1  LOST(t-0 t-1) assignment() JoinGroup(m1)
        25  kept  unjoined  -1/    LOST(t-0 t-1) assignment() JoinGroup()
        27  kept  stable    5/m1   REVOKED(t-0 t-1) assignment() JoinGroup(m1)
        82  kept  unjoined  -1/    LOST(t-0 t-1) assignment() raise FENCED_INSTANCE_ID
        *   kept  stable    5/m1   raise *
    """,
}

API = {
    "JoinGroup": "JoinGroup",
    "JoinGroup again": "JoinGroup",
    "SyncGroup": "SyncGroup",
    "Heartbeat": "Heartbeat",
    "Heartbeat eager": "Heartbeat",
}


def bench_at(step: str) -> Bench:
    bench = Bench("range" if step in ("JoinGroup", "Heartbeat eager") else "cooperative-sticky")
    if step == "JoinGroup":
        bench.start_join()
        return bench
    eager = step == "Heartbeat eager"
    bench.settle(protocol_name="range" if eager else "cooperative-sticky")
    if step.startswith("Heartbeat"):
        bench.start_heartbeat()
        return bench
    bench.membership.request_rejoin("told to")
    assert bench.poll() == ["JoinGroup(m1)"]
    if step == "SyncGroup":
        bench.answer(joined(generation_id=6, protocol_name="cooperative-sticky"))
    return bench


def expected(step: str, code: ErrorCode) -> str:
    rows = {row.split()[0]: " ".join(row.split()[1:]) for row in ROWS[step].strip().splitlines()}
    return rows.get(str(int(code)), rows["*"]).replace("*", code.name)


def seen(bench: Bench) -> str:
    membership = bench.membership
    generation = membership.generation
    coordinator = "lost" if membership.coordinator is None else "kept"
    state = membership.state.value
    where = f"{generation.generation_id}/{generation.member_id}"
    return " ".join([coordinator, state, where, bench.story()])


@pytest.mark.parametrize("step", ROWS)
def test_every_error_at_every_step(step):
    wrong = {}
    for code in ERRORS:
        bench = bench_at(step)
        bench.answer(refused(code)[API[step]])
        if (what := seen(bench)) != expected(step, code):
            wrong[code.name] = what
    assert wrong == {}


@pytest.mark.parametrize("error", [NodeDisconnected(), RequestTimedOut()], ids=repr)
@pytest.mark.parametrize("step", ROWS)
def test_a_lost_connection_is_a_lost_coordinator(step, error):
    bench = bench_at(step)
    assert "disconnect" in bench.answer(error)
    assert seen(bench) == expected(step, ErrorCode.NOT_COORDINATOR)


@pytest.mark.parametrize("step", ROWS)
def test_what_no_retry_can_help_is_raised(step):
    bench = bench_at(step)
    bench.answer(Unsupported("too old"))
    assert bench.story() == "raise UNSUPPORTED_VERSION"


def test_every_error_of_find_coordinator():
    for code in ERRORS:
        bench = Bench()
        assert bench.poll() == ["FindCoordinator"]
        bench.answer(refused(code)["FindCoordinator"])
        is_retriable = code in RETRIABLE
        assert bench.said[1:] == (["refresh(t)"] if is_retriable else [])
        ending = "wait FindCoordinator" if is_retriable else f"raise {code.name}"
        assert bench.story() == ending
        assert bench.membership.coordinator is None


@pytest.mark.parametrize(
    "nobody", [found(host=""), found(node_id=-1), found()._replace(coordinators=())], ids=str
)
def test_an_answer_that_names_nobody_is_no_coordinator(nobody):
    bench = Bench()
    bench.poll()
    bench.answer(nobody)
    assert bench.story() == "wait FindCoordinator"


def test_versions_before_the_list_name_it_directly():
    bench = Bench()
    bench.poll()
    bench.answer(found()._replace(coordinators=(), node_id=3, host="b", port=9))
    assert bench.membership.coordinator == (3, "b", 9)


def test_leaving_ends_whatever_the_answer():
    for code in ErrorCode:
        bench = Bench()
        bench.settle()
        assert bench.leave() == ["REVOKED(t-0 t-1)"]
        assert bench.done() == ["assignment()", "LeaveGroup(m1)"]
        left = "left" if code is ErrorCode.NONE else f"left {code.name}"
        assert bench.answer(refused(code)["LeaveGroup"]) == [left]
        assert bench.membership.state.value == "unjoined"
        assert bench.story() == "nothing"


# code -> effect, error for the caller; as sent in the current generation, then in an older one
# while stable, then in an older one while joining the next.
_C, _R = "CommitFailedError", "RebalanceInProgressError"
COMMITS = {
    3: "none *, none *, none *",
    7: "find_coordinator *, find_coordinator *, find_coordinator *",
    13: "find_coordinator *, find_coordinator *, find_coordinator *",
    15: "find_coordinator *, find_coordinator *, find_coordinator *",
    16: "find_coordinator *, find_coordinator *, find_coordinator *",
    22: f"reset_generation {_C}, reset_generation {_C}, none {_R}",
    25: f"reset_member_id {_C}, reset_member_id {_C}, none {_R}",
    27: "rejoin *, rejoin *, rejoin *",
    82: f"none *, none {_C}, none {_R}",
}


def committed(bench: Bench, code: ErrorCode, sent) -> str:
    outcome = bench.commit_answered(code, sent)
    is_own = (
        type(outcome.error).__name__ in (_C, _R) and code is not ErrorCode.REBALANCE_IN_PROGRESS
    )
    if not is_own:
        assert outcome.error.code is code
        assert outcome.error.retriable == (code in RETRIABLE)
    return f"{outcome.effect.value} {type(outcome.error).__name__ if is_own else '*'}"


def told(code: ErrorCode, is_old: bool, is_joining: bool) -> str:
    bench = Bench("cooperative-sticky")
    bench.settle(protocol_name="cooperative-sticky")
    sent = bench.membership.generation
    if is_joining:
        bench.membership.request_rejoin("told to")
        assert bench.poll() == ["JoinGroup(m1)"]
    return committed(bench, code, sent._replace(generation_id=4) if is_old else sent)


def test_every_error_of_offset_commit():
    whens = [(False, False), (True, False), (True, True)]
    outcomes = {int(code): ", ".join(told(code, *when) for when in whens) for code in ERRORS}
    assert outcomes == {int(code): "none *, none *, none *" for code in ERRORS} | COMMITS


COMMIT_STORIES = {
    CommitEffect.FIND_COORDINATOR: "FindCoordinator",
    CommitEffect.REJOIN: "JoinGroup(m1)",
    CommitEffect.RESET_GENERATION: "LOST(t-0 t-1) assignment() JoinGroup(m1)",
    CommitEffect.RESET_MEMBER_ID: "LOST(t-0 t-1) assignment() JoinGroup()",
    CommitEffect.NONE: "nothing",
}


def test_a_member_follows_its_commits():
    for code in ErrorCode:
        bench = Bench("cooperative-sticky")
        bench.settle(protocol_name="cooperative-sticky")
        outcome = bench.commit_answered(code)
        assert bench.story() == COMMIT_STORIES[outcome.effect], code
