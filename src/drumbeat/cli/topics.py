"""drumbeat topics: list, describe, create, alter, delete."""

from base64 import urlsafe_b64encode
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
    key_values,
    note,
    show,
    show_json,
)
from drumbeat.cli.completion import topic_names
from drumbeat.pipeline.history.answer import Answer

if TYPE_CHECKING:
    from drumbeat.client import SyncAdmin
    from drumbeat.client.net.metadata import TopicMetadata

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

TopicArgument = Annotated[
    str, typer.Argument(metavar="TOPIC", help="The topic.", autocompletion=topic_names)
]
TopicsArgument = Annotated[
    list[str], typer.Argument(metavar="TOPIC", help="The topics.", autocompletion=topic_names)
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY=VALUE", help="A topic configuration; may be repeated."),
]


@app.callback()
def topics() -> None:
    """List, describe, create, alter and delete topics, of Drumbeat or of Kafka."""


@app.command("list")
def list_(
    internal: Annotated[
        bool, typer.Option("--internal", help="Also those that brokers keep for themselves.")
    ] = False,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
    output: OutputOption = Output.TABLE,
) -> None:
    """All topics with their number of partitions and copies."""
    with connected(Target(bootstrap_server, timeout)) as admin:
        found = admin.describe_topics()
    rows = [
        (topic.name, len(topic.partitions), _copies(topic), topic.is_internal)
        for _, topic in sorted(found.items())
        if internal or not topic.is_internal
    ]
    show(Answer(("topic", "partitions", "replication_factor", "is_internal"), rows), output)


@app.command()
def describe(
    names: TopicsArgument,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
    output: OutputOption = Output.TABLE,
) -> None:
    """Partitions with leader, replicas and offsets, and the configuration that was set."""
    with connected(Target(bootstrap_server, timeout)) as admin:
        documents = [_document(admin, topic) for topic in admin.describe_topics(names).values()]
    if output is Output.JSON:
        show_json(documents)
        return
    for document in documents:
        show(_partitions_answer(document), output)


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="TOPIC", help="The new topic.")],
    *,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="How many; else the broker's default.")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(min=1, help="Copies of each; else the broker's default.")
    ] = None,
    config: ConfigOption = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Leave a topic alone that is there.")
    ] = False,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
) -> None:
    """Create a topic."""
    from drumbeat.client.admin import NewTopic
    from drumbeat.client.admin.topics import BROKER_DEFAULT
    from drumbeat.client.errors import TopicExistsError

    new = NewTopic(
        name=name,
        num_partitions=partitions or BROKER_DEFAULT,
        replication_factor=replication_factor or BROKER_DEFAULT,
        configs=key_values(config or (), "--config"),
    )
    with connected(Target(bootstrap_server, timeout)) as admin:
        try:
            made = admin.create_topics([new])[name]
        except TopicExistsError:
            if not if_not_exists:
                raise
            note(f"{name} is there already")
            return
    print(f"created {name} with {made.num_partitions} partitions")


@app.command()
def alter(
    name: TopicArgument,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Grow to that many; keys go elsewhere from then on.")
    ] = None,
    config: ConfigOption = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option("--delete-config", metavar="KEY", help="Back to the default; repeatable."),
    ] = None,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
) -> None:
    """More partitions, or another configuration."""
    from drumbeat.client.admin import AlterConfig, AlterConfigOp

    changes = [AlterConfig(*pair) for pair in key_values(config or (), "--config").items()]
    changes += [AlterConfig(key, None, AlterConfigOp.DELETE) for key in delete_config or ()]
    if partitions is None and not changes:
        raise UsageProblem("nothing to alter: give --partitions, --config or --delete-config")
    with connected(Target(bootstrap_server, timeout)) as admin:
        admin.describe_topics([name])  # a broker takes configurations of topics that are not there
        if changes:
            admin.incremental_alter_configs({_resource(name): changes})
        if partitions is not None:
            admin.create_partitions({name: partitions})
    print(f"altered {name}")


@app.command()
def delete(
    names: TopicsArgument,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
) -> None:
    """Delete topics with all their records."""
    with connected(Target(bootstrap_server, timeout)) as admin:
        admin.delete_topics(names)
    print(f"deleted {', '.join(names)}")


def _copies(topic: "TopicMetadata") -> int:
    return max((len(partition.replicas) for partition in topic.partitions), default=0)


def _resource(name: str) -> Any:
    from drumbeat.client.admin import ConfigResource, ConfigResourceType

    return ConfigResource(ConfigResourceType.TOPIC, name)


def _document(admin: "SyncAdmin", topic: "TopicMetadata") -> dict[str, Any]:
    from drumbeat.client.admin import ConfigSource, OffsetSpec
    from drumbeat.client.values import TopicPartition

    tps = {p.index: TopicPartition(topic.name, p.index) for p in topic.partitions}
    first = admin.list_offsets(dict.fromkeys(tps.values(), OffsetSpec.EARLIEST))
    last = admin.list_offsets(dict.fromkeys(tps.values(), OffsetSpec.LATEST))
    resource = _resource(topic.name)
    configs = admin.describe_configs([resource])[resource]
    return {
        "topic": topic.name,
        "topic_id": urlsafe_b64encode(topic.topic_id).decode().rstrip("="),
        "is_internal": topic.is_internal,
        "replication_factor": _copies(topic),
        "configs": {
            name: entry.value
            for name, entry in sorted(configs.items())
            if entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
        },
        "partitions": [
            {
                "partition": one.index,
                "leader": one.leader,
                "replicas": one.replicas,
                "isr": one.isr,
                "log_start_offset": first[tps[one.index]].offset,
                "log_end_offset": last[tps[one.index]].offset,
            }
            for one in topic.partitions
        ],
    }


def _partitions_answer(document: dict[str, Any]) -> Answer:
    partitions = document["partitions"]
    title = f"{document['topic']}: {len(partitions)} partitions, id {document['topic_id']}"
    for key, value in document["configs"].items():
        title += f", {key}={value}"
    columns = tuple(partitions[0])
    return Answer(columns, [tuple(one.values()) for one in partitions], title=title)
