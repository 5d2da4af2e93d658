"""The index of deadlines: it finds what the table says is due, and does not outgrow the table."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.runtime.coordinator.timers import Timers

GROUPS = [f"group-{number}" for number in range(200)]


def session(group_id):
    return DeadlineKey(DeadlineKind.SESSION, group_id, "member")


def sync(group_id):
    return DeadlineKey(DeadlineKind.SYNC, group_id)


def set_deadline(deadlines, timers, key, at_ms):
    deadlines[key] = at_ms
    timers.note(key, at_ms)


def test_rebalances_that_are_over_leave_little_behind():
    deadlines = {}
    timers = Timers(deadlines)
    for group_id in GROUPS:
        set_deadline(deadlines, timers, session(group_id), 45_000)
        for generation in range(5):
            set_deadline(deadlines, timers, sync(group_id), 300_000 + generation)
            del deadlines[sync(group_id)]
    assert len(timers._heap) <= len(deadlines) * 5 // 4 + 1
    assert list(timers.due(45_000)) == sorted(map(session, GROUPS))
    assert not deadlines.keys() - set(map(session, GROUPS))


def test_what_is_set_anew_to_be_due_at_once_waits_for_the_next_look():
    deadlines, looks = {}, []
    timers = Timers(deadlines)
    for group_id in GROUPS[:2]:
        set_deadline(deadlines, timers, sync(group_id), 5)
    for key in timers.due(6):
        looks.append(key)
        set_deadline(deadlines, timers, key, 6)
    assert looks == list(map(sync, GROUPS[:2]))
    assert timers.next_ms() == 6
    assert sorted(timers.due(6)) == sorted(looks)


_KEYS = st.integers(0, 80).map(lambda number: session(f"g-{number}"))
_STEPS = st.lists(
    st.tuples(st.just("set"), _KEYS, st.integers(1, 50))
    | st.tuples(st.just("clear"), _KEYS, st.just(0))
    | st.tuples(st.just("wait"), st.none(), st.integers(1, 20)),
    max_size=400,
)


@given(_STEPS)
def test_what_is_due_is_what_the_table_says(steps):
    deadlines, now_ms = {}, 0
    timers = Timers(deadlines)
    for step, key, time_ms in steps:
        match step:
            case "set":
                set_deadline(deadlines, timers, key, now_ms + time_ms)
            case "clear":
                deadlines.pop(key, None)
            case "wait":
                now_ms += time_ms
                expected = sorted(key for key, at_ms in deadlines.items() if at_ms <= now_ms)
                assert sorted(timers.due(now_ms)) == expected
                for due in expected:
                    del deadlines[due]
        earliest_ms = min(deadlines.values(), default=None)
        if earliest_ms is not None:
            assert timers.next_ms() <= earliest_ms
