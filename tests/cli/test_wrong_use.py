"""Deliberately wrong invocations: each says in plain words what to do, and exits as the table says.

No traceback, no page of usage, nothing on standard output.
"""

import shlex

import pytest

from drumbeat.cli.exits import MEANINGS, ExitCode

FAILED, USAGE, UNAVAILABLE = ExitCode.FAILED, ExitCode.USAGE, ExitCode.UNAVAILABLE

WRONG = [
    ("group list", USAGE, "There is no verb 'group'; did you mean 'groups'?"),
    ("frobnicate", USAGE, "it is one of up, demo, topics"),
    ("topics list --bootstrap-server 127.0.0.1:1", UNAVAILABLE, "start a node with 'drumbeat up'"),
    ("topics list --bootstrap-server http://x:1", USAGE, "takes host:port without a scheme"),
    ("topics list --output yaml", USAGE, "'yaml' is not one of 'table', 'json'"),
    ("topics describe missing", FAILED, "does not exist: create it first, or check its name"),
    ("topics create 'no spaces'", FAILED, "use at most 249 of the characters"),
    ("topics create t --config retention.ms", USAGE, "takes KEY=VALUE, not 'retention.ms'"),
    ("topics alter t", USAGE, "give --partitions, --config or --delete-config"),
    ("topics delete missing", FAILED, "does not exist"),
    ("produce t --header nothing", USAGE, "--header takes NAME=VALUE"),
    ("produce t --file /no/such/file", UNAVAILABLE, "--file: No such file or directory"),
    ("consume missing", FAILED, "create it with 'drumbeat topics create missing'"),
    ("consume t --group g --offset 5", USAGE, "move the group with 'drumbeat groups reset'"),
    ("consume t --offset soon", USAGE, "a number, -N (from the end), earliest or latest"),
    ("groups describe missing", FAILED, "'drumbeat groups list' shows those that do"),
    ("groups describe g --count 2", USAGE, "--count goes with --watch"),
    ("groups list --state Stabil", USAGE, "'Stabil' is not one of 'stable', 'empty'"),
    ("groups delete missing", FAILED, "the group does not exist"),
    ("groups reset g --all-topics", USAGE, "give one of --to-earliest, --to-latest"),
    ("groups reset g --all-topics --to-latest --shift-by 1", USAGE, "--to-latest, --shift-by"),
    ("groups reset g --to-latest", USAGE, "say which offsets: --topic"),
    ("groups reset g --topic t:x --to-latest", USAGE, "as in t:0,1, not 't:x'"),
    ("groups reset g --topic missing --to-latest", FAILED, "does not exist"),
    ("groups reset g --all-topics --by-duration soon", USAGE, "such as PT1H30M or 90m"),
    ("groups reset g --all-topics --to-datetime noon", USAGE, "2026-11-16T12:30:00Z"),
    ("groups reset g --from-file /no/such", UNAVAILABLE, "No such file or directory: /no/such"),
    ("log dump /no/such", UNAVAILABLE, "name a data directory or a .log file"),
    ("log verify /dev", UNAVAILABLE, "name a node's data directory"),
    ("config check /no/such", UNAVAILABLE, "name a server.properties"),
]


@pytest.mark.parametrize(("command", "code", "words"), WRONG, ids=[one[0] for one in WRONG])
def test_a_wrong_invocation_says_what_to_do(drumbeat, command, code, words):
    ran = drumbeat.attempt(*shlex.split(command))
    assert ran.exit_code == code, ran
    assert words in ran.stderr.replace("\n", " ")
    assert ran.stdout == ""
    lines = [line for line in ran.stderr.splitlines() if line.strip()]
    if code is USAGE and lines[0].startswith("Usage:"):
        assert lines[1].startswith("Try 'drumbeat")
        assert len(lines) == 3
    else:
        assert len(lines) == 1
        assert lines[0].startswith("drumbeat: ")


def test_shifting_what_was_never_committed_is_refused(drumbeat, orders):
    ran = drumbeat.attempt("groups", "reset", "fresh", "--topic", orders, "--shift-by", "1")
    assert ran.exit_code == FAILED
    assert "nothing is committed that could be shifted; leave the partition out" in ran.stderr


def test_a_partition_that_is_not_there_is_named(drumbeat, orders):
    scope = ("--topic", f"{orders}:0,7")
    ran = drumbeat.attempt("groups", "reset", "fresh", *scope, "--to-latest")
    assert (ran.exit_code, "has partitions 0 to 1, but no 7" in ran.stderr) == (USAGE, True)
    ran = drumbeat.attempt("consume", orders, "--partition", "7")
    assert (ran.exit_code, "has partitions 0 to 1" in ran.stderr) == (FAILED, True)


def test_help_shows_the_table_of_exit_codes(drumbeat):
    shown = drumbeat("--help").stdout
    for code, meaning in MEANINGS.items():
        assert f"{int(code)}" in shown
        assert meaning in " ".join(shown.split())
