"""The reference page holds every key and is the one that is checked in."""

from pathlib import Path

from drumbeat.runtime.config.broker import BROKER_KEYS
from drumbeat.runtime.config.document import render
from drumbeat.runtime.config.topic import TOPIC_KEYS

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_every_key_is_on_the_page():
    page = render()
    for name in [*BROKER_KEYS, *TOPIC_KEYS]:
        assert f"`{name}`" in page
    assert "| `num.partitions` | int | `1` | at least 1 | The partitions of a topic" in page


def test_the_page_in_the_repository_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == render(), (
        "write render() of drumbeat.runtime.config.document to docs/configuration.md"
    )
