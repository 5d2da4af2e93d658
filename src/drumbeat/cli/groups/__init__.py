"""drumbeat groups: list, describe, reset, delete, offsets-delete."""

from enum import StrEnum
from typing import Annotated

import typer

from drumbeat.cli.common import (
    DEFAULT_SERVERS,
    TIMEOUT_S,
    Output,
    OutputOption,
    ServersOption,
    Target,
    TimeoutOption,
    connected,
    show,
)
from drumbeat.cli.completion import group_ids, topic_names
from drumbeat.cli.groups.describe import describe
from drumbeat.cli.groups.reset import reset
from drumbeat.cli.groups.scope import partitions_of
from drumbeat.pipeline.history.answer import Answer

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def groups() -> None:
    """List, describe, reset and delete consumer groups, of Drumbeat or of Kafka."""


class GroupState(StrEnum):
    STABLE = "Stable"
    EMPTY = "Empty"
    DEAD = "Dead"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"


class GroupType(StrEnum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


def _one_of(kind: type[StrEnum]) -> str:
    return f"Only those: {', '.join(kind)}; may be repeated."


@app.command("list")
def list_(
    state: Annotated[
        list[GroupState] | None,
        typer.Option(metavar="STATE", case_sensitive=False, help=_one_of(GroupState)),
    ] = None,
    group_type: Annotated[
        list[GroupType] | None,
        typer.Option("--type", metavar="TYPE", case_sensitive=False, help=_one_of(GroupType)),
    ] = None,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
    output: OutputOption = Output.TABLE,
) -> None:
    """All groups of the cluster with their state and type."""
    with connected(Target(bootstrap_server, timeout)) as admin:
        listed = admin.list_groups(states=state or (), types=group_type or ())
    rows = [
        (group.group_id, group.state or None, group.type or None, group.protocol_type or None)
        for group in listed
    ]
    show(Answer(("group", "state", "type", "protocol_type"), rows), output)


app.command()(describe)
app.command()(reset)


@app.command()
def delete(
    group: Annotated[
        list[str],
        typer.Argument(metavar="GROUP", help="The groups.", autocompletion=group_ids),
    ],
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
) -> None:
    """Delete groups that have no members, with their committed offsets."""
    with connected(Target(bootstrap_server, timeout)) as admin:
        admin.delete_groups(group)
    print(f"deleted {', '.join(group)}")


@app.command("offsets-delete")
def offsets_delete(
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=group_ids)
    ],
    topic: Annotated[
        list[str],
        typer.Option(
            metavar="TOPIC[:PARTITIONS]",
            help="Of what, as orders or orders:0,1; may be repeated.",
            autocompletion=topic_names,
        ),
    ],
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
) -> None:
    """Forget what a group has committed for topics that none of its members reads."""
    with connected(Target(bootstrap_server, timeout)) as admin:
        tps = partitions_of(admin, topic)
        admin.delete_group_offsets(group, tps)
    print(f"deleted {group}'s offsets of {', '.join(map(str, tps))}")
