"""What `drumbeat log verify` writes."""

import os
from typing import Any

from drumbeat.cli.common import Output, show, show_json
from drumbeat.cli.log.findings import PartitionReport
from drumbeat.cli.logs import escaped
from drumbeat.pipeline.history.answer import Answer

_COLUMNS = ("segments", "batches", "records", "bytes", "first_offset", "next_offset")


def write_report(reports: list[PartitionReport], output: Output) -> bool:
    """Whether everything is sound."""
    problems = [finding for report in reports for finding in report.findings]
    if output is Output.JSON:
        show_json({"is_sound": not problems, "partitions": [_document(one) for one in reports]})
        return not problems
    shown = [report for report in reports if report.batches or report.findings]
    rows = [(os.path.basename(one.directory), *_numbers(one), len(one.findings)) for one in shown]
    if rows:
        show(Answer(("partition", *_COLUMNS, "problems"), rows), output)
    for finding in problems:
        print(escaped(str(finding)))
    records = sum(report.records for report in reports)
    verdict = f"{len(problems)} problems" if problems else "all sound"
    print(f"{len(reports)} partitions, {records:,} records: {verdict}")
    return not problems


def _numbers(report: PartitionReport) -> list[Any]:
    return [getattr(report, column) for column in _COLUMNS]


def _document(report: PartitionReport) -> dict[str, Any]:
    numbers = dict(zip(_COLUMNS, _numbers(report), strict=True))
    findings = [finding._asdict() for finding in report.findings]
    return {"partition": report.directory, **numbers, "problems": findings}
