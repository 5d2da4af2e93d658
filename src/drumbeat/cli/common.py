"""What the verbs that talk to a cluster share: options, the connection, errors as one line.

Whatever goes wrong ends in `fail`: one line on standard error that says what to do, and an exit
code of the table in `drumbeat.cli.exits`.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from drumbeat.cli.exits import ExitCode
from drumbeat.cli.logs import escaped, no_client_logs
from drumbeat.client.errors import (
    ADVICE,
    ConfigError,
    DrumbeatError,
    KafkaError,
    NoBrokersAvailable,
    NodeDisconnected,
    RequestTimedOut,
)
from drumbeat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from drumbeat.client import SyncAdmin
    from drumbeat.pipeline.history.answer import Answer

SERVERS_VARIABLE = "DRUMBEAT_BOOTSTRAP_SERVERS"
DEFAULT_SERVERS = "127.0.0.1:9092"
TIMEOUT_S = 15.0


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


ServersOption = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        envvar=SERVERS_VARIABLE,
        metavar="HOST:PORT",
        help="A broker of the cluster, Drumbeat's or Kafka's; several with commas.",
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.1, max=3600, metavar="SECONDS", help="How long to wait for an answer."
    ),
]
OutputOption = Annotated[Output, typer.Option("--output", help="How to write the answer.")]


class Target(NamedTuple):
    """Which cluster, and how patient."""

    servers: str
    timeout_s: float = TIMEOUT_S

    def options(self) -> dict[str, Any]:
        """For any of the clients."""
        timeout_ms = int(self.timeout_s * 1000)
        return {
            "bootstrap_servers": self.servers,
            "client_id": "drumbeat-cli",
            "request_timeout_ms": timeout_ms,
            "default_api_timeout_ms": timeout_ms,
            "socket_connection_setup_timeout_ms": timeout_ms,
        }


@contextmanager
def connected(target: Target) -> "Iterator[SyncAdmin]":
    """An admin client; whatever it raises becomes one line."""
    with reporting_errors(target), no_client_logs():
        from drumbeat.client import SyncAdmin

        with SyncAdmin(target.options()) as admin:
            yield admin


@contextmanager
def reporting_errors(target: Target) -> Iterator[None]:
    try:
        yield
    except NoBrokersAvailable as problem:
        fail(
            ExitCode.UNAVAILABLE,
            f"cannot reach a cluster: {_reasons(problem)}; start a node with 'drumbeat up', or "
            f"name another with --bootstrap-server or {SERVERS_VARIABLE}",
        )
    except ConfigError as problem:
        fail(ExitCode.USAGE, str(problem))
    except (NodeDisconnected, RequestTimedOut) as problem:
        fail(
            ExitCode.UNAVAILABLE,
            f"{target.servers} did not answer: {problem.message}; try again, or wait longer with "
            "--timeout",
        )
    except KafkaError as problem:
        fail(ExitCode.FAILED, _with_advice(problem))
    except DrumbeatError as problem:
        fail(ExitCode.FAILED, str(problem))


# What to do here, for errors whose own words do not say it.
_ADVICE = {
    ErrorCode.TOPIC_ALREADY_EXISTS: "choose another name, or leave it alone with --if-not-exists",
    ErrorCode.GROUP_ID_NOT_FOUND: "'drumbeat groups list' shows those that do",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that read it first",
    ErrorCode.INVALID_PARTITIONS: "a topic can only grow",
    ErrorCode.INVALID_CONFIG: "docs/configuration.md lists keys and values",
    ErrorCode.INVALID_REPLICATION_FACTOR: "ask for as many copies as there are brokers, or fewer",
}


def _with_advice(problem: KafkaError) -> str:
    advice = _ADVICE.get(problem.code) or ADVICE.get(problem.code)
    says_it = advice is None or advice in problem.message
    words = problem.message if says_it else f"{problem.message.rstrip('.')}; {advice}"
    return f"{words} ({problem.code.name})"


def _reasons(problem: NoBrokersAvailable) -> str:
    """By address."""
    return str(problem).partition(": ")[2]


def show(answer: "Answer", output: Output) -> None:
    """Rows, as a table or as a JSON array of objects."""
    from drumbeat.pipeline.history.answer import Output as Written
    from drumbeat.pipeline.history.answer import write_answer

    write_answer(answer, Written(output), sys.stdout, limit=0)


def show_json(document: Any) -> None:
    from drumbeat.pipeline.history.answer import write_json

    write_json(document, sys.stdout)


def note(text: str) -> None:
    print(f"drumbeat: {escaped(text)}", file=sys.stderr)


def fail(code: ExitCode, text: str) -> NoReturn:
    note(text)
    raise typer.Exit(code)


class UsageProblem(typer.BadParameter):
    """What is wrong with the command line as a whole; shown below the usage line."""

    def format_message(self) -> str:
        return self.message


def key_values(settings: Sequence[str], option: str) -> dict[str, str]:
    """KEY=VALUE pairs of a repeated option."""
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise UsageProblem(f"{option} takes KEY=VALUE, not {setting!r}")
        pairs[key.strip()] = value.strip()
    return pairs
