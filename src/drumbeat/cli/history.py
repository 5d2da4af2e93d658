"""drumbeat history: questions to the tables that `drumbeat pipeline` made."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from drumbeat.pipeline.history.answer import TABLE_ROWS, Answer, Output, write_answer, write_json
from drumbeat.pipeline.history.times import END_OF_TIME_MS, parse_time, time_text

if TYPE_CHECKING:
    from drumbeat.pipeline.history.states import GroupState
    from drumbeat.pipeline.history.store import History
    from drumbeat.pipeline.tables.undo import UndoPlan

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXIT_CONFIG, EXIT_FAILED, EXIT_INTERRUPTED = 2, 3, 130


def _time(text: str) -> int:
    try:
        return parse_time(text)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None


def _moment(at: int | None) -> int:
    return END_OF_TIME_MS if at is None else at


_TIME = {"metavar": "TIME", "parser": _time}
WarehouseOption = Annotated[
    str, typer.Option("--warehouse", metavar="DIR", help="Where the tables are.")
]
GroupOption = Annotated[str | None, typer.Option("--group", metavar="G", help="This group only.")]
OneGroupOption = Annotated[str, typer.Option("--group", metavar="G", help="The group.")]
ClusterOption = Annotated[
    str | None, typer.Option("--cluster", metavar="ID", help="If the tables are of several.")
]
AtOption = Annotated[
    int | None,
    typer.Option(
        "--at",
        help="As of then: 2026-11-16T12:30:00Z, or ms since the epoch; else the end of the log.",
        **_TIME,
    ),
]
OutputOption = Annotated[Output, typer.Option("--output", help="How to write the answer.")]
LimitOption = Annotated[
    int, typer.Option("--limit", min=0, help="Rows of a table to show; 0 is all.")
]

WideOption = Annotated[
    bool, typer.Option("--wide", help="All columns of a table, however wide it gets.")
]


@app.callback()
def history() -> None:
    """Ask what groups did: who consumed what, when, how far behind, and why they rebalanced.

    Times are in UTC. Exits with 2 if a question is wrong, with 3 if it cannot be answered.
    """


# command -> its question in drumbeat.pipeline.history.questions, and what it says of itself
_QUESTIONS = {
    "groups": ("GROUPS", "All groups: type, state, members, commits, lag, rebalances, findings."),
    "rebalances": (
        "REBALANCES_OF_GROUPS",
        "Rebalances of groups: when, how long, why, and what moved.",
    ),
    "lag": ("LAG", "How far behind each partition of a group is, and whether it catches up."),
    "findings": (
        "FINDINGS_OF_GROUPS",
        "What somebody should look at, worst first, and what can be done about it.",
    ),
}


def _add_question(command: str, question: str, text: str) -> None:
    @app.command(command, help=text)
    def ask(
        *,
        warehouse: WarehouseOption,
        group: GroupOption = None,
        at: AtOption = None,
        cluster: ClusterOption = None,
        output: OutputOption = Output.TABLE,
        limit: LimitOption = TABLE_ROWS,
        wide: WideOption = False,
    ) -> None:
        with _opened(warehouse) as opened:
            from drumbeat.pipeline.history import questions

            scope = questions.Scope(group_id=group, cluster_id=cluster, at_ms=_moment(at))
            found = questions.answer(opened, getattr(questions, question), scope)
            _write_view(found, output, limit, wide=wide)


for _command, _question in _QUESTIONS.items():
    _add_question(_command, *_question)


@app.command()
def state(
    warehouse: WarehouseOption,
    group: GroupOption = None,
    at: AtOption = None,
    cluster: ClusterOption = None,
    output: OutputOption = Output.TABLE,
    limit: LimitOption = TABLE_ROWS,
) -> None:
    """A group as it was: generation, members, owners, offsets. Without --group, all in brief."""
    with _opened(warehouse) as opened:
        from drumbeat.pipeline.history.replay import replay_of_group
        from drumbeat.pipeline.history.states import all_states, group_state

        if group is None:
            write_answer(all_states(opened, _moment(at), cluster), output, sys.stdout, limit)
            return
        found = group_state(opened, replay_of_group(opened, group, cluster), _moment(at))
        _warn_of_gaps(found.is_complete)
        _write_state(found, output, limit)


@app.command()
def diff(
    before: Annotated[int, typer.Argument(help="The earlier time.", **_TIME)],
    after: Annotated[int, typer.Argument(help="The later time.", **_TIME)],
    *,
    warehouse: WarehouseOption,
    group: GroupOption = None,
    cluster: ClusterOption = None,
    output: OutputOption = Output.TABLE,
    limit: LimitOption = TABLE_ROWS,
) -> None:
    """What changed between two times: groups, generations, members, offsets."""
    with _opened(warehouse) as opened:
        from drumbeat.pipeline.history.changes import changes

        write_answer(changes(opened, (before, after), group, cluster), output, sys.stdout, limit)


@app.command()
def undo(
    warehouse: WarehouseOption,
    group: OneGroupOption,
    at: Annotated[int, typer.Option("--at", help="The time to go back to.", **_TIME)],
    cluster: ClusterOption = None,
    output: OutputOption = Output.CSV,
) -> None:
    """The offsets that a group had, for kafka-consumer-groups --reset-offsets --from-file.

    Offsets that were committed only since then, and members that must stop before, are told on
    the error output.
    """
    with _opened(warehouse) as opened:
        from drumbeat.pipeline.history.changes import way_back
        from drumbeat.pipeline.history.replay import replay_of_group

        replay = replay_of_group(opened, group, cluster)
        _warn_of_gaps(replay.is_complete_at(at))
        _write_undo(way_back(opened, replay, at), output)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="In DuckDB's dialect.")],
    warehouse: WarehouseOption,
    output: OutputOption = Output.TABLE,
    limit: LimitOption = TABLE_ROWS,
) -> None:
    """Any question to the tables. SHOW TABLES lists them, DESCRIBE their columns."""
    with _opened(warehouse) as opened:
        write_answer(opened.query(query), output, sys.stdout, limit)


@app.command()
def plot(
    warehouse: WarehouseOption,
    group: OneGroupOption,
    out: Annotated[str, typer.Option("--out", metavar="FILE.png", help="The picture to write.")],
    since: Annotated[
        int | None, typer.Option("--from", help="Where the picture begins.", **_TIME)
    ] = None,
    until: Annotated[
        int | None, typer.Option("--to", help="Where the picture ends.", **_TIME)
    ] = None,
    cluster: ClusterOption = None,
) -> None:
    """Draw a group's generations, who owned which partition, and the lag below."""
    with _opened(warehouse) as opened:
        from drumbeat.pipeline.history.plot import draw
        from drumbeat.pipeline.history.plot_data import plot_data
        from drumbeat.pipeline.history.questions import Scope

        data = plot_data(opened, Scope(group_id=group, cluster_id=cluster), since, until)
        try:
            draw(data, out)
        except OSError as problem:
            _fail(EXIT_FAILED, f"cannot write {out}: {problem.strerror}")
        print(out)


@contextmanager
def _opened(warehouse: str) -> "Iterator[History]":
    try:
        from drumbeat.pipeline.errors import PipelineError
        from drumbeat.pipeline.history.store import open_history
    except ModuleNotFoundError as missing:
        _fail(EXIT_CONFIG, f"{missing.name} is not installed; pip install 'drumbeat[spark]'")
    try:
        with open_history(warehouse) as opened:
            yield opened
    except PipelineError as problem:
        _fail(EXIT_FAILED, str(problem))
    except KeyboardInterrupt:
        _fail(EXIT_INTERRUPTED, "interrupted")


def _write_view(found: Answer, output: Output, limit: int, *, wide: bool) -> None:
    write_answer(found._replace(view=None) if wide else found, output, sys.stdout, limit)


def _write_state(found: "GroupState", output: Output, limit: int) -> None:
    if output is Output.JSON:
        write_json(found.document(), sys.stdout)
        return
    if output is Output.CSV:
        write_answer(found.partitions_answer(), output, sys.stdout)
        return
    when = "at the end of the log" if found.at_ms >= END_OF_TIME_MS else time_text(found.at_ms)
    if found.group_type is None:
        print(f"{found.group_id}: no such group {when}")
        return
    title = f"{found.group_id}, {when}: {found.group_type}, {found.state}"
    title += f", generation {found.generation}" if found.generation else ""
    title += f", {found.protocol}, led by {found.leader}" if found.protocol else ""
    write_answer(found.partitions_answer()._replace(title=title), output, sys.stdout, limit)
    if found.members:
        members = found.members_answer()._replace(title=f"{len(found.members)} members")
        write_answer(members, output, sys.stdout, limit)


def _write_undo(plan: "UndoPlan", output: Output) -> None:
    from drumbeat.pipeline.tables.undo import Reset, reset_csv

    if output is Output.JSON:
        write_json(
            {
                "resets": [reset._asdict() for reset in plan.resets],
                "deletes": plan.deletes,
                "active_groups": plan.active_groups,
            },
            sys.stdout,
        )
        return
    if output is Output.CSV:
        sys.stdout.write(reset_csv(plan.resets))
    else:
        write_answer(Answer(Reset._fields, plan.resets), output, sys.stdout, limit=0)
    for _, topic, partition in plan.deletes:
        _note(f"{topic}-{partition} had no offset then; --delete-offsets undoes its commits")
    for group_id in plan.active_groups:
        _note(f"{group_id} has members; stop them before the reset")


def _warn_of_gaps(is_complete: bool | None) -> None:
    if is_complete is False:
        _note("records of that time are missing (see log_coverage); there may have been more")


def _note(text: str) -> None:
    print(f"drumbeat history: {text}", file=sys.stderr)


def _fail(code: int, text: str) -> NoReturn:
    _note(text)
    raise typer.Exit(code)
