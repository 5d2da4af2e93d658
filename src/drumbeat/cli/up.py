"""drumbeat up: its options, for people. `plain_options.py` reads the same in a hurry."""

from typing import Annotated

import typer

from drumbeat.cli.plain_options import PORT_MAX, LogFormat, LogLevel, UpOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def up(
    *,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=PORT_MAX, metavar="PORT", help="Port to listen on; 0 takes a free one."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where to keep the data; else ./drumbeat-data."),
    ] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing on disk.")] = False,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="A Kafka server.properties.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="One configuration key; may be repeated."),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=PORT_MAX,
            metavar="PORT",
            help="Serve /metrics, /healthz and /readyz on this port; 0 takes a free one.",
        ),
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(metavar="LEVEL", help=f"{', '.join(LogLevel)}: what to log; else info."),
    ] = None,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(metavar="FORMAT", help="text, or json for one object per line; else text."),
    ] = None,
) -> None:
    """Start a node and serve until stopped.

    Configuration is Kafka's: the keys of server.properties, from --config and --set.
    A line that begins with 'ready' says where clients connect.
    """
    from drumbeat.cli.serving import serve

    serve(
        UpOptions(
            port=port,
            data=data,
            memory=memory,
            config=config,
            settings=tuple(settings or ()),
            metrics_port=metrics_port,
            log_level=log_level,
            log_format=log_format,
        )
    )
