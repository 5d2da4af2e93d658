"""The reference page of configuration keys, written from the tables so that it cannot disagree."""

from collections.abc import Iterable

from drumbeat.runtime.config.broker import (
    AUTHORIZER_KEYS,
    BROKER_KEYS,
    PASS_THROUGH_PREFIXES,
    RETIRED_KEYS,
    has_effect,
)
from drumbeat.runtime.config.definitions import ConfigDef
from drumbeat.runtime.config.table import ConfigTable
from drumbeat.runtime.config.topic import TOPIC_KEYS

_INTRODUCTION = """\
# Configuration

`drumbeat up` reads Kafka's `server.properties` (`--config FILE`) and single keys
(`--set key=value`, which win over the file). Names, types, defaults and limits are Kafka 4.3's.

- A key on this page under *Broker keys* or *Topic keys* does what it does in Kafka.
- A key under *Accepted keys* is checked and reported by DescribeConfigs, and has no effect; the log
  names it once at the start.
- Any other key is an error, which names the nearest known one.

Four defaults differ from Kafka's: `node.id` and `broker.id` (1; Kafka has to be told), `listeners`
(this machine only; Kafka opens every interface) and `log.dir` (Kafka's is a folder of its own).
*Dynamic* keys can be changed while the broker runs.
"""

_ACCEPTED = """\
## Accepted keys

Known to Kafka, without effect here.
"""


def render() -> str:
    """The page as Markdown."""
    parts = [_INTRODUCTION, "## Broker keys\n"]
    for section in BROKER_KEYS.used:
        if names := [name for name in BROKER_KEYS.names(section) if has_effect(name)]:
            parts += [f"### {section.title}\n", _key_table(BROKER_KEYS, names)]
    parts.append("## Topic keys\n")
    parts += [_key_table(TOPIC_KEYS, TOPIC_KEYS.names(section)) for section in TOPIC_KEYS.used]
    parts.append(_ACCEPTED)
    checked = [name for section in BROKER_KEYS.used for name in BROKER_KEYS.names(section)]
    parts.append("### Checked against each other\n")
    parts.append(_name_list(name for name in checked if not has_effect(name)))
    for section in BROKER_KEYS.accepted:
        parts += [f"### {section.title}\n", _name_list(BROKER_KEYS.names(section))]
    parts += ["### Authorizer\n", _name_list(sorted(AUTHORIZER_KEYS))]
    for section in TOPIC_KEYS.accepted:
        parts += [f"### {section.title}\n", _name_list(TOPIC_KEYS.names(section))]
    parts += ["### Dropped by Kafka 4.0\n", _name_list(sorted(RETIRED_KEYS))]
    parts.append("### Prefixes of listeners and plug-ins\n")
    parts.append(_name_list(f"{prefix}*" for prefix in PASS_THROUGH_PREFIXES))
    return "\n".join(parts)


def _key_table(table: ConfigTable, names: Iterable[str]) -> str:
    rows = ["| Key | Type | Default | Values | Meaning |", "|---|---|---|---|---|"]
    rows += [_row(table[name]) for name in names]
    return "\n".join(rows) + "\n"


def _row(definition: ConfigDef) -> str:
    default = "none" if definition.default is None else f"`{definition.default}`"
    cells = (
        f"`{definition.name}`",
        definition.type.name.lower() + (", dynamic" if definition.is_dynamic else ""),
        default,
        "" if definition.rule is None else definition.rule.wants,
        definition.documentation,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _name_list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "\n"
