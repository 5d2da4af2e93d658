"""Sessions that cannot start say so at once, and why."""

import socket

import pytest

from drumbeat.pipeline.errors import PipelineError
from drumbeat.pipeline.session import (
    is_local,
    is_on_this_machine,
    register_sources,
    spark_session,
)

MASTERS = [
    ("local", True, True),
    ("local[*]", True, True),
    ("local[2,4]", True, True),
    ("spark://127.0.0.1:7077", False, True),
    ("spark://localhost:7077", False, True),
    ("spark://127.0.0.1.example.com:7077", False, False),
    ("spark://a:7077,b:7077", False, False),
    ("yarn", False, False),
]


@pytest.mark.parametrize(("master", "local", "on_this_machine"), MASTERS)
def test_where_a_master_is(master, local, on_this_machine):
    assert (is_local(master), is_on_this_machine(master)) == (local, on_this_machine)


def test_a_master_that_does_not_answer_is_named_before_anything_starts():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with (
        pytest.raises(PipelineError, match=f"no Spark master answers at spark://127.0.0.1:{port}"),
        spark_session(f"spark://127.0.0.1:{port}"),
    ):
        pass


def test_a_python_without_drumbeat_is_named_before_a_query_fails(spark, tmp_path, monkeypatch):
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    with pytest.raises(PipelineError, match=f"Spark runs {other}, which has no drumbeat"):
        register_sources(spark)
