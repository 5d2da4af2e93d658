"""One Spark session for all tests of a pytest worker: starting it takes longer than they do."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from drumbeat.pipeline.session import COORDINATING, spark_session

    settings = {
        **COORDINATING,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",  # queries of a few rows cost less as they are
        "spark.sql.adaptive.enabled": "false",
    }
    with spark_session("local[2]", settings) as session:
        yield session
