"""A Spark session that needs no set-up: finds Java, keeps quiet, ships this package.

All that the JVM says goes to a file, of which an error shows the end. Spark's own configuration
(`spark-defaults.conf`, SPARK_HOME, PYSPARK_PYTHON) keeps its say where this module has none.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from drumbeat.pipeline.decode.sections import ROWS_MAX
from drumbeat.pipeline.errors import PipelineError
from drumbeat.pipeline.java import find_java, make_java_home
from drumbeat.pipeline.shipping import zip_package
from drumbeat.pipeline.sources.broker_source import BrokerDataSource
from drumbeat.pipeline.sources.log_source import LogDataSource

SPARK_ERRORS: Final = (PySparkException, Py4JError)
SOURCES: Final = (LogDataSource, BrokerDataSource)
LOCAL_MASTER: Final = "local[*]"
_LOOPBACK: Final = "127.0.0.1"
_LOG_TAIL_BYTES: Final = 4_000
_ANSWER_SECONDS_MAX: Final = 5.0

_SETTINGS: Final = {
    "spark.app.name": "drumbeat",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_MAX),
    "spark.sql.session.timeZone": "UTC",
}
# For jobs whose rows never enter the JVM: it starts in half the time if it does not optimise.
COORDINATING: Final = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
# One machine: nothing of the job is to be reached from another.
_LOOPBACK_MASTERS = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?")
_STANDALONE = re.compile(r"spark://(.+:\d{1,5})")
_LOCAL_SETTINGS: Final = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
}


@contextmanager
def spark_session(
    master: str = LOCAL_MASTER, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session on `master`, stopped at the end; `settings` go before ours."""
    scratch = tempfile.mkdtemp(prefix="drumbeat-spark-")
    try:
        with open(os.path.join(scratch, "spark.log"), "w+b") as log:
            session = _start(master, settings or {}, scratch, log)
            try:
                yield session
            finally:
                _stop(session)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def register_sources(session: SparkSession) -> None:
    """Make our data sources known by their names, as in `spark.read.format("drumbeat_log")`."""
    if is_local(session.sparkContext.master or ""):
        _check_python(session.conf.get("spark.pyspark.python", None))
    for source in SOURCES:
        session.dataSource.register(source)


def _check_python(configured: str | None) -> None:
    """Spark says nothing but ModuleNotFoundError, in a long trace, if its Python is another."""
    name = configured or os.environ.get("PYSPARK_PYTHON") or "python3"
    found = shutil.which(name)
    if found is None or os.path.dirname(found) == os.path.dirname(sys.executable):
        return
    tried = subprocess.run(
        [found, "-c", "import drumbeat.pipeline"], capture_output=True, check=False
    )
    if tried.returncode:
        raise PipelineError(
            f"Spark runs {found}, which has no drumbeat: before the session starts, set "
            f"PYSPARK_PYTHON={sys.executable}, or activate the environment that has drumbeat"
        )


def is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def is_on_this_machine(master: str) -> bool:
    return is_local(master) or _LOOPBACK_MASTERS.fullmatch(master) is not None


def _start(master: str, settings: Mapping[str, str], scratch: str, log: IO[bytes]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False).setAll(list(_conf(master, settings, scratch).items()))
    _check_answers(master)
    package = None if is_local(master) else zip_package(scratch)
    try:
        context = SparkContext(conf=conf, gateway=_launch(conf, scratch, package, log))
        if package is not None:
            context.addPyFile(package)
        return SparkSession(context)
    except SPARK_ERRORS as problem:
        _end_jvm()
        said = _tail(log) if isinstance(problem, PySparkException) else ""
        raise PipelineError(
            f"Spark does not start on {master}: {cause(problem)}{said}"
        ) from problem


def _check_answers(master: str) -> None:
    """Spark itself would try for a minute, and then fail in another place."""
    match = _STANDALONE.fullmatch(master)
    if match is None:
        return
    problems: list[OSError] = []
    for address in match[1].split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS_MAX).close()
        except OSError as problem:
            problems.append(problem)
        else:
            return
    raise PipelineError(
        f"no Spark master answers at {master}: {problems[0].strerror or problems[0]}; start one, "
        f"check the address, or use {LOCAL_MASTER} to run on this machine"
    )


def cause(problem: Exception) -> str:
    """What happened, without the JVM's stack."""
    return str(problem).partition("\n\tat ")[0].strip()


def _conf(master: str, settings: Mapping[str, str], scratch: str) -> dict[str, str]:
    return {
        **_SETTINGS,
        **(_LOCAL_SETTINGS if is_on_this_machine(master) else {}),
        "spark.sql.warehouse.dir": os.path.join(scratch, "spark-warehouse"),
        **settings,
        "spark.master": master,
    }


def _launch(conf: Any, scratch: str, package: str | None, log: IO[bytes]) -> Any:
    """The JVM, with the Java that was found and its output in the log.

    Streams have a Python process beside the driver, which is not given what executors are.
    """
    java_home = make_java_home(find_java(os.environ), os.path.join(scratch, "java"))
    variables = {"JAVA_HOME": java_home}
    if package is not None:
        paths = (package, os.environ.get("PYTHONPATH"))
        variables["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    launch: Callable[..., Any] = launch_gateway  # has no types
    with _environment(variables):
        return launch(conf, popen_kwargs={"stdout": log, "stderr": log})


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _stop(session: SparkSession) -> None:
    """With its JVM, which PySpark would keep for the next session, whatever its settings."""
    session.stop()
    _end_jvm()


def _end_jvm() -> None:
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no other way to end its JVM
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _LOG_TAIL_BYTES))
    text = log.read().decode(errors="replace").strip()
    return f"\n{text}" if text else ""
