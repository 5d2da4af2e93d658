"""Our assignors and Java's, on generated groups: the same answers, down to the order."""

import base64
from collections import Counter

import pytest

from client.assignors.golden import GOLDEN, recorded
from client.assignors.groups import cluster, written
from client.assignors.histories import History, Round
from client.assignors.laws import check_assigned_once, check_handed_over
from client.assignors.sticky_cases import BETTER_THAN_JAVA, CASES
from drumbeat.client.assignors import assignor
from interop.assignors import java_answers, known_difference
from interop.java_programs import compile_ours

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

HISTORIES = 1_000
ROUNDS_MIN = 3_000
NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
EXPLAINED_MAX = 0.05  # of the rounds


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    compile_ours(folder)
    return folder


@pytest.fixture(scope="module")
def answered(classes):
    """Every generated history with Java's answers to it, from one process."""
    histories = [History(name, seed) for name in NAMES for seed in range(HISTORIES)]
    answers = java_answers((history.as_json() for history in histories), classes)
    return list(zip(histories, answers, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_answers(answered, name):
    counts = Counter()
    for history, answers in answered:
        if history.name != name:
            continue
        for index, (result, answer) in enumerate(zip(history.results, answers, strict=True)):
            if answer.error is None and answer.assignment == result:
                counts["same"] += 1
                continue
            why = known_difference(history, index)
            assert why is not None, (history.as_json(), index, answer, result)
            counts[why] += 1
    print(f"{name}: {dict(counts)}")
    assert counts["same"] >= ROUNDS_MIN
    assert counts.total() - counts["same"] <= EXPLAINED_MAX * counts.total()


@pytest.mark.parametrize("name", NAMES)
def test_where_java_fails_ours_is_sound(answered, name):
    check = check_handed_over if name == "cooperative-sticky" else check_assigned_once
    for history, _ in answered:
        if history.name == name:
            for one, result in zip(history.rounds, history.results, strict=True):
                check(one.cluster, one.members, result)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_user_data(answered, name):
    for history, answers in answered:
        if history.name != name:
            continue
        for one, answer in zip(history.rounds, answers, strict=True):
            for member_id, partitions in answer.assignment.items():
                member = assignor(name)
                member.on_assignment(partitions, one.generation_id)
                data = member.subscription_user_data(())
                encoded = None if data is None else base64.b64encode(data).decode()
                assert encoded == answer.user_data[member_id]


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_the_cases_of_the_unit_tests(classes, name):
    rounds = [Round(cluster(case.topics), case.members(name), 9) for case in CASES]
    histories = [{"assignor": name, "rounds": [one.as_json()]} for one in rounds]
    answers = java_answers(histories, classes)
    differing = tuple(
        case.name
        for case, (answer,) in zip(CASES, answers, strict=True)
        if answer.error or written(answer.assignment) != case.expected(name)
    )
    assert differing == BETTER_THAN_JAVA


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_what_was_recorded_is_what_java_says(classes, path):
    histories = recorded(path)
    answers = java_answers((history.data for history in histories), classes)
    for history, rounds in zip(histories, answers, strict=True):
        assert [answer.assignment for answer in rounds] == history.results
