"""The short way into `drumbeat up` reads what Typer reads, and leaves to it what is not plain."""

from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.cli.plain_options import LogFormat, LogLevel, UpOptions, plain_options
from drumbeat.cli.up import app
from support.node_process import NodeProcess

COMMAND = typer.main.get_command(app)

words = st.text(st.sampled_from("az09=./ é"), min_size=1, max_size=8)
ports = st.integers(0, 65_535).map(str)
VALUES = {
    "--port": ports,
    "--data": words,
    "--config": words,
    "--set": words,
    "--metrics-port": ports,
    "--log-level": st.sampled_from([str(level) for level in LogLevel]),
    "--log-format": st.sampled_from([str(style) for style in LogFormat]),
}
plain = st.one_of(
    st.just(["--memory"]),
    *(st.tuples(st.just(name), value).map(list) for name, value in VALUES.items()),
    *(value.map(lambda v, n=name: [f"{n}={v}"]) for name, value in VALUES.items()),
)


def by_typer(arguments: list[str]) -> UpOptions:
    found = COMMAND.make_context("up", list(arguments)).params
    return UpOptions(**{**found, "settings": tuple(found["settings"] or ())})


@given(st.lists(plain, max_size=6))
def test_what_is_plain_is_read_as_typer_reads_it(options):
    arguments = [word for option in options for word in option]
    assert plain_options(arguments) == by_typer(arguments)


def test_every_option_has_the_short_way():
    names = {name for option in COMMAND.params for name in option.opts if name.startswith("--")}
    assert names - {"--help"} == {"--memory", *VALUES}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["--port"],
        ["--port", "65536"],
        ["--port", "-1"],
        ["--port", "http"],
        ["--port", "\N{ARABIC-INDIC DIGIT ONE}"],
        ["--log-level", "loud"],
        ["--data", "--memory"],
        ["--memory=1"],
        ["--prot", "1"],
        ["here"],
        ["--", "--memory"],
    ],
    ids=" ".join,
)
def test_what_is_not_plain_is_left_to_typer(arguments):
    assert plain_options(arguments) is None


def test_a_node_starts_without_typer(tmp_path):
    with NodeProcess("--memory", logs=tmp_path / "log") as node:
        mapped = Path(f"/proc/{node.pid}/maps").read_text()
    assert "crc32c" in mapped
    assert "pydantic_core" not in mapped  # what Typer brings along
