"""Why a job is refused or fails: each text says what is wrong, and what helps."""

from __future__ import annotations


class PipelineError(Exception):
    """The job cannot begin or go on; nothing that was published has changed."""


class NoJava(PipelineError):  # noqa: N818 - reads as what it is
    """No Java that Spark runs on was found."""


class SourceError(PipelineError):
    """What should be read is not there, or is not a log."""


class WarehouseError(PipelineError):
    """The directory of the tables cannot be used."""


class WarehouseHeld(WarehouseError):  # noqa: N818 - named after the log's own LogHeld
    """Another job is writing to the warehouse."""
