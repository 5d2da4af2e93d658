"""drumbeat groups describe: once, or watched."""

from typing import TYPE_CHECKING, Annotated

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
    show,
    show_json,
)
from drumbeat.cli.completion import group_ids
from drumbeat.cli.exits import ExitCode
from drumbeat.client.errors import GroupIdNotFoundError

if TYPE_CHECKING:
    from drumbeat.cli.groups.view import GroupView
    from drumbeat.client import SyncAdmin


def describe(
    group: Annotated[
        list[str],
        typer.Argument(metavar="GROUP", help="The groups.", autocompletion=group_ids),
    ],
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again; q ends it.")] = False,
    interval: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How often, with --watch.")
    ] = 2.0,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many times, with --watch.")
    ] = None,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
    output: OutputOption = Output.TABLE,
) -> None:
    """State, members and assignment of groups; committed offset, log end and lag by partition."""
    if count is not None and not watch:
        raise UsageProblem("--count goes with --watch")
    with connected(Target(bootstrap_server, timeout)) as admin:
        if watch:
            _watch(admin, group, interval, count, output)
        else:
            _write(_views(admin, group), output)


def _views(admin: "SyncAdmin", groups: list[str]) -> "list[GroupView]":
    from drumbeat.cli.groups.view import view_groups

    try:
        return view_groups(admin, groups)
    except GroupIdNotFoundError:
        types = {one.group_id: one.type for one in admin.list_groups()}
        others = (one for one in groups if types.get(one) not in ("classic", "consumer"))
        group_id = next(others, groups[0])
        if group_id in types:
            kind = types[group_id] or "other"
            fail(ExitCode.FAILED, f"{group_id} is a {kind} group; only consumer groups are read")
        fail(
            ExitCode.FAILED,
            f"group {group_id} does not exist; 'drumbeat groups list' shows those that do",
        )


def _write(views: "list[GroupView]", output: Output) -> None:
    if output is Output.JSON:
        show_json([view.document() for view in views])
        return
    for view in views:
        for answer in view.answers():
            show(answer, output)


def _watch(
    admin: "SyncAdmin", groups: list[str], interval_s: float, count: int | None, output: Output
) -> None:
    from drumbeat.cli.groups.watching import Pause, drawing

    rounds = 0
    with drawing(output) as draw, Pause() as pause:
        while True:
            draw(_views(admin, groups))
            rounds += 1
            if rounds == count or pause.is_ended_within(interval_s):
                return
