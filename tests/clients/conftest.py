"""One node on disk for all clients' tests of a worker."""

import warnings
from importlib import import_module

import pytest

from drumbeat.testing import Cluster

pytest.register_assert_rewrite("clients.scenarios")

with warnings.catch_warnings():
    # kafka-python reads its message schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import_module("kafka.admin")


@pytest.fixture(scope="session")
def bootstrap_servers(tmp_path_factory):
    with Cluster(data=str(tmp_path_factory.mktemp("cluster"))) as cluster:
        yield cluster.bootstrap_servers
