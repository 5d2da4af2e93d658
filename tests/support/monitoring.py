"""What monitoring sees of a node: pages, and numbers as Prometheus' own parser reads them."""

import json
from collections import defaultdict
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

TIMEOUT_S = 20.0


class Page(NamedTuple):
    status: int
    content_type: str
    body: str

    @property
    def document(self) -> dict:
        assert self.content_type == "application/json"
        return json.loads(self.body)


def get(url: str) -> Page:
    try:
        with urlopen(url, timeout=TIMEOUT_S) as answer:
            return Page(answer.status, answer.headers["Content-Type"], answer.read().decode())
    except HTTPError as answer:
        with answer:
            return Page(answer.code, answer.headers["Content-Type"], answer.read().decode())


class Metrics:
    """`metrics.value("name", label="x")`; labels that are not given are summed over."""

    def __init__(self, url: str) -> None:
        page = get(f"{url}/metrics")
        assert page.status == 200
        assert page.content_type == "text/plain; version=0.0.4; charset=utf-8"
        self._samples = defaultdict(list)
        self.kinds: dict[str, str] = {}
        for family in text_string_to_metric_families(page.body):
            self.kinds[family.name] = family.type
            for sample in family.samples:
                self._samples[sample.name].append(sample)

    def value(self, name: str, **labels: str) -> float:
        name = name if name in self._samples else f"{name}_total"
        assert name in self._samples, f"no {name} among {sorted(self._samples)}"
        return sum(
            sample.value
            for sample in self._samples[name]
            if labels.items() <= sample.labels.items()
        )

    def labels(self, name: str) -> list[dict[str, str]]:
        return [sample.labels for sample in self._samples[name]]
