"""The tables of the pipeline as a page: the question each answers, and its columns."""

from __future__ import annotations

from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.schemas.declaration import Table, spark_type

HEAD = """# The tables of a warehouse

This page is made from `pipeline/schemas/`, where every table is declared once.
Instants are milliseconds since the epoch, as Kafka has them.
[pipeline.md](pipeline.md) tells how the tables are made.
"""


def render() -> str:
    return "\n".join([HEAD, *map(_section, TABLES.values())]).rstrip() + "\n"


def _section(table: Table) -> str:
    rows = [
        f"| `{column.name}` | {spark_type(column.type)}{'' if column.is_nullable else ' not null'} "
        f"| {column.doc} |"
        for column in table.columns
    ]
    header = ["| Column | Type | Meaning |", "|---|---|---|"]
    return "\n".join([f"## {table.name}", "", table.question, "", *header, *rows, ""])
