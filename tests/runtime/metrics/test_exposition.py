"""The text that Prometheus reads, judged by Prometheus' own parser."""

import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from drumbeat.runtime.metrics.exposition import (
    LINES_PER_TURN,
    Family,
    Sample,
    by_label,
    counter,
    gauge,
    histogram_samples,
    render,
)
from drumbeat.runtime.metrics.histogram import SECONDS, Histogram


def parsed(*families: Family) -> dict:
    text = asyncio.run(render(families))
    return {family.name: family for family in text_string_to_metric_families(text)}


@pytest.mark.parametrize(
    ("family", "name", "kind", "samples"),
    [
        (counter("a_total", "A.", 3), "a", "counter", [("a_total", {}, 3)]),
        # Kafka's own names do not end as Prometheus likes it; its parser mends that.
        (counter("a_count", "A.", 3), "a_count", "counter", [("a_count_total", {}, 3)]),
        (gauge("a", "A.", 0.25), "a", "gauge", [("a", {}, 0.25)]),
        (gauge("a", "A.", 2**53), "a", "gauge", [("a", {}, 2**53)]),
        (
            by_label("gauge", "a", "A.", "state", {"on": 1, "off": 2}),
            "a",
            "gauge",
            [("a", {"state": "on"}, 1), ("a", {"state": "off"}, 2)],
        ),
        (Family("a", "gauge", "A.", ()), "a", "gauge", []),
    ],
)
def test_a_family_is_read_as_it_was_meant(family, name, kind, samples):
    (read,) = parsed(family).values()
    assert (read.name, read.type, read.documentation) == (name, kind, "A.")
    assert [(s.name, s.labels, s.value) for s in read.samples] == samples


@pytest.mark.parametrize("words", ['say "hi"', "a\\b", "two\nlines", "\\n", "grüße", "", "{},="])
def test_any_words_can_stand_in_a_label_and_in_the_help(words):
    family = Family("a", "gauge", f"Help: {words}.", (Sample({"topic": words}, 1),))
    (read,) = parsed(family).values()
    assert read.samples[0].labels == {"topic": words}
    assert read.documentation == f"Help: {words}."


def test_buckets_count_what_is_below_them():
    histogram = Histogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        histogram.observe(value)
    read = parsed(Family("a", "histogram", "A.", histogram_samples({"of": "x"}, histogram)))["a"]
    assert [(s.name, s.labels.get("le"), s.value) for s in read.samples] == [
        ("a_bucket", "0.1", 2),
        ("a_bucket", "1.0", 3),
        ("a_bucket", "+Inf", 4),
        ("a_sum", None, 7.65),
        ("a_count", None, 4),
    ]
    assert {s.labels["of"] for s in read.samples} == {"x"}
    assert histogram.count == 4


def test_bounds_ascend():
    assert list(SECONDS) == sorted(set(SECONDS))


def test_a_long_page_lets_others_have_their_turn():
    async def main() -> int:
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count_turns())
        samples = (Sample({"n": n}, n) for n in range(5 * LINES_PER_TURN))
        await render([Family("a", "gauge", "A.", samples)])
        counting.cancel()
        return turns

    assert asyncio.run(main()) >= 5
