"""drumbeat demo: the whole system once, in about a minute."""

from drumbeat.cli.demo.verb import app

__all__ = ["app"]
