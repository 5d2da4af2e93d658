"""The pytest plugin, in projects that are not ours."""

from testing.projects import outcomes, run_project

UNUSED = """
    import sys

    def test_nothing_of_the_server_is_there():
        loaded = {name for name in sys.modules if name.startswith("drumbeat")}
        assert loaded == {"drumbeat", "drumbeat.testing", "drumbeat.testing.pytest_plugin"}
"""


def test_who_does_not_use_it_does_not_pay_for_it(tmp_path):
    output = run_project(tmp_path, {"test_unused.py": UNUSED}, "--strict-markers")
    assert outcomes(output)["passed"] == 1, output


INI = """
    [pytest]
    drumbeat_config =
        num.partitions=5
        group.max.size = 9
    drumbeat_topics =
        everywhere
        wide=4
"""

OWN = """
    import pytest
    from drumbeat.testing import Cluster, NewTopic

    seen = []

    @pytest.mark.parametrize("n", range(2))
    def test_fresh(drumbeat_cluster, n):
        seen.append(drumbeat_cluster)
        drumbeat_cluster.create_topic("mine")
        assert len(set(map(id, seen))) == n + 1

    def test_the_ini_file(drumbeat_cluster, drumbeat_session_cluster):
        for cluster in (drumbeat_cluster, drumbeat_session_cluster):
            assert isinstance(cluster, Cluster)
            assert cluster.node.broker.config.num_partitions == 5
            assert cluster.node.broker.config.group_max_size == 9
            assert len(cluster.end_offsets("everywhere")) == 1
            assert len(cluster.end_offsets("wide")) == 4

    @pytest.mark.drumbeat(config={"num.partitions": 6}, topics=["of-the-class"])
    class TestMarkers:
        def test_of_the_class(self, drumbeat_cluster):
            config = drumbeat_cluster.node.broker.config
            assert (config.num_partitions, config.group_max_size) == (6, 9)
            assert len(drumbeat_cluster.end_offsets("of-the-class")) == 1
            assert drumbeat_cluster.node.broker.storage.directory == "memory"

        @pytest.mark.drumbeat(
            topics={"wide": NewTopic(2), "more": 3}, auto_create_topics=False, on_disk=True
        )
        def test_the_nearest_wins(self, drumbeat_cluster, tmp_path):
            config = drumbeat_cluster.node.broker.config
            assert (config.num_partitions, config.auto_create_topics_enable) == (6, False)
            assert len(drumbeat_cluster.end_offsets("wide")) == 2
            assert drumbeat_cluster.node.broker.storage.directory == str(tmp_path / "drumbeat")
"""

WRONG = """
    import pytest

    @pytest.mark.drumbeat(topics=["t"])
    def test_a_marker_without_effect(drumbeat_session_cluster):
        pass

    @pytest.mark.drumbeat(topic=["t"])
    def test_a_marker_with_a_wrong_name(drumbeat_cluster):
        pass

    @pytest.mark.drumbeat(config={"num.partition": 1})
    def test_a_wrong_key(drumbeat_cluster):
        pass

    def test_that_fails(drumbeat_cluster):
        with drumbeat_cluster.coordinator_unloaded("billing"):
            pass
        drumbeat_cluster.pause()
        assert 1 == 2
"""


def test_a_cluster_of_its_own_for_each_test_as_ini_file_and_marker_want_it(tmp_path):
    files = {"pytest.ini": INI, "test_own.py": OWN}
    output = run_project(tmp_path, files, "--strict-markers", "--strict-config")
    assert outcomes(output)["passed"] == 5, output


def test_what_is_wrong_is_told_where_it_was_written(tmp_path):
    output = run_project(tmp_path, {"test_wrong.py": WRONG})
    told = outcomes(output)
    assert (told["failed"], told["errors"]) == (1, 3), output
    assert "drumbeat_session_cluster is the same for all tests" in output
    assert "takes config, topics, auto_create_topics, on_disk by name, not topic" in output
    assert "did you mean 'num.partitions'" in output
    assert "Drumbeat: group events" in output
    assert "partition_loaded" in output


SHARED = """
    import os
    import pytest

    ended = []

    @pytest.fixture(scope="session")
    def first_topic(drumbeat_session_cluster):
        return drumbeat_session_cluster.new_topic("orders")

    @pytest.mark.parametrize("n", range(6))
    def test_shared(drumbeat_session_cluster, first_topic, n):
        cluster = drumbeat_session_cluster
        assert cluster.node.dispatcher._handlers[12].__name__ == "one_group"  # Heartbeat
        topic, group = cluster.new_topic("orders", partitions=2), cluster.new_group("billing")
        assert topic != first_topic
        assert cluster.end_offsets(topic) == {0: 0, 1: 0}
        assert cluster.group(group).state == "Dead"
        cluster.fail_next("Heartbeat", "NOT_COORDINATOR", n=None)
        cluster.record("Fetch")
        with open(f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.servers", "a") as file:
            file.write(cluster.bootstrap_servers + "\\n")
        loads = [event for event in cluster.events() if event.type == "partition_loaded"]
        assert len(loads) == len(ended)  # each found the coordinator of the one before it back
        ended.append(n)
        cluster.unload_coordinator("billing")
        cluster.pause()
"""


def test_one_cluster_for_all_without_leftovers(tmp_path):
    output = run_project(tmp_path, {"test_shared.py": SHARED})
    assert outcomes(output)["passed"] == 6, output
    assert len(set((tmp_path / "alone.servers").read_text().split())) == 1


def test_a_cluster_for_each_worker_of_xdist(tmp_path):
    output = run_project(tmp_path, {"test_shared.py": SHARED}, "-n", "2")
    assert outcomes(output)["passed"] == 6, output
    used = [set(path.read_text().split()) for path in tmp_path.glob("gw*.servers")]
    assert all(len(servers) == 1 for servers in used)
    assert len(set.union(*used)) == len(used)
