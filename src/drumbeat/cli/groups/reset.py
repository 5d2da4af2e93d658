"""drumbeat groups reset: where a group goes on, shown first, then done."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumbeat.cli.common import (
    DEFAULT_SERVERS,
    TIMEOUT_S,
    Output,
    OutputOption,
    ServersOption,
    Target,
    TimeoutOption,
    UsageProblem,
    connected,
    fail,
    note,
    show,
    show_json,
)
from drumbeat.cli.completion import group_ids, topic_names
from drumbeat.cli.exits import ExitCode
from drumbeat.pipeline.history.answer import Answer

if TYPE_CHECKING:
    from drumbeat.client import SyncAdmin
    from drumbeat.client.admin import OffsetChange, ResetTo

_INACTIVE = ("Empty", "Dead")
_MEMBERS_NAMED = 5


def reset(
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=group_ids)
    ],
    *,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC[:PARTITIONS]",
            help="Of what, as orders or orders:0,1; may be repeated.",
            autocompletion=topic_names,
        ),
    ] = None,
    all_topics: Annotated[
        bool, typer.Option("--all-topics", help="All that the group has committed.")
    ] = False,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="To the first record there is.")
    ] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end.")] = False,
    to_current: Annotated[
        bool, typer.Option("--to-current", help="Where it is; the end where nothing is committed.")
    ] = False,
    to_offset: Annotated[int | None, typer.Option(metavar="N", help="To this offset.")] = None,
    shift_by: Annotated[
        int | None, typer.Option(metavar="N", help="So many records on; -N: back.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="To the first record since 2026-11-16T12:30:00.000."),
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="To the first record of the last PT1H30M, 7d, 90m."),
    ] = None,
    from_file: Annotated[
        str | None,
        typer.Option(metavar="CSV", help="As it says: lines of [group,]topic,partition,offset."),
    ] = None,
    from_group: Annotated[
        str | None,
        typer.Option(metavar="GROUP", help="Where that group is.", autocompletion=group_ids),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Do it; else only show what would be done.")
    ] = False,
    export: Annotated[
        bool, typer.Option("--export", help="Write the new offsets as CSV for --from-file.")
    ] = False,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move a group's committed offsets; without --execute, only show before and after.

    Follows the rules of kafka-consumer-groups --reset-offsets: the group must have no members, and
    a target outside of what a partition holds is taken for its nearest end, which is noted.
    """
    from drumbeat.cli.groups.plans import Choices

    choices = Choices(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_current=to_current,
        to_offset=to_offset,
        shift_by=shift_by,
        to_datetime=to_datetime,
        by_duration=by_duration,
        from_file=from_file,
        from_group=from_group,
    )
    _check_scope(topic, all_topics, from_file)
    to = choices.plan(group)
    with connected(Target(bootstrap_server, timeout)) as admin:
        changes = _reset(admin, group, to, topic or (), execute)
    _write(group, changes, execute, "csv" if export else output)


def _check_scope(topics: list[str] | None, all_topics: bool, from_file: str | None) -> None:
    given = [bool(topics), all_topics, from_file is not None]
    if sum(given) > 1:
        raise UsageProblem("give one of --topic, --all-topics and --from-file, which names its own")
    if not any(given):
        raise UsageProblem("say which offsets: --topic TOPIC[:PARTITIONS], or --all-topics")


def _reset(
    admin: "SyncAdmin", group: str, to: "ResetTo", topics: Any, execute: bool
) -> "list[OffsetChange]":
    from drumbeat.cli.groups.scope import partitions_of
    from drumbeat.client.admin import CannotReset

    _check_inactive(admin, group)
    try:
        return admin.reset_group_offsets(
            group, to, partitions=partitions_of(admin, topics), dry_run=not execute
        )
    except CannotReset as problem:
        fail(ExitCode.FAILED, str(problem))


def _check_inactive(admin: "SyncAdmin", group: str) -> None:
    """As in Kafka, a group that does not exist is reset too: its first member begins there."""
    from drumbeat.client.errors import GroupIdNotFoundError

    try:
        found = admin.describe_groups([group])[group]
    except GroupIdNotFoundError:
        return
    if found.state not in _INACTIVE:
        names = [f"{one.client_id} at {one.host}" for one in found.members[:_MEMBERS_NAMED]]
        names += ["..."] if len(found.members) > _MEMBERS_NAMED else []
        fail(
            ExitCode.FAILED,
            f"group {group} is {found.state} with {len(found.members)} members "
            f"({', '.join(names)}): stop them first, they would go on where they are",
        )


def _write(group: str, changes: "list[OffsetChange]", execute: bool, output: str) -> None:
    from drumbeat.client.admin import as_lines

    columns = ("topic", "partition", "before", "after", "note")
    rows = [(*one.topic_partition, one.before, one.after, one.note or None) for one in changes]
    if output == "csv":
        print("\n".join(as_lines(changes)))
    elif output is Output.JSON:
        resets = [dict(zip(columns, row, strict=True)) for row in rows]
        show_json({"group": group, "executed": execute, "resets": resets})
    else:
        title = f"{group}: {'moved' if execute else 'would move'}"
        show(Answer(columns, rows, title=title), Output.TABLE)
    if not changes:
        note(f"group {group} has committed nothing; name topics with --topic")
    elif not execute:
        note("nothing was changed; --execute does it")
