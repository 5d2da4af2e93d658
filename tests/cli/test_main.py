"""`drumbeat` itself: quick, lazy, and completed by a shell."""

import ast
import os
import subprocess
import sys

import pytest

from drumbeat.cli.verbs import VERBS
from support.node_process import COMMAND

CPU_S_MAX = 0.3


def complete(drumbeat, words: str) -> list[str]:
    """What bash is offered for the last word."""
    done = subprocess.run(
        COMMAND,
        env={
            **os.environ,
            **drumbeat.env,
            "_DRUMBEAT_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_help_is_quick():
    measured = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=-3, check=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    )
    seconds = min(
        float(subprocess.check_output([sys.executable, "-c", measured, *COMMAND, "--help"]))
        for _ in range(3)
    )
    assert seconds < CPU_S_MAX


@pytest.mark.parametrize("arguments", ["--help", ""])
def test_no_verb_is_loaded_before_it_is_called(arguments):
    code = (
        "import sys; from drumbeat.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith('drumbeat.')], file=sys.stderr)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True, check=True
    ).stderr.splitlines()[-1]
    names = {"drumbeat.cli", "drumbeat.cli.exits", "drumbeat.cli.main", "drumbeat.cli.verbs"}
    assert set(ast.literal_eval(loaded)) == names


def test_every_verb_has_help(drumbeat):
    for verb in VERBS:
        assert drumbeat(verb, "--help").stdout.startswith(f"Usage: drumbeat {verb} ")


def test_a_shell_completes_verbs_commands_options_and_names(drumbeat, orders, admin):
    admin.alter_group_offsets("completed-group", {(orders, 0): 1})
    assert complete(drumbeat, "drumbeat gr") == ["groups"]
    assert set(complete(drumbeat, "drumbeat groups ")) >= {"list", "describe", "reset"}
    assert complete(drumbeat, "drumbeat groups reset g --from-g") == ["--from-group"]
    assert complete(drumbeat, "drumbeat groups describe completed-") == ["completed-group"]
    assert orders in complete(drumbeat, f"drumbeat consume {orders[:-1]}")


def test_completion_is_silent_without_a_cluster(drumbeat):
    words = "drumbeat groups describe --bootstrap-server 127.0.0.1:1 g"
    assert complete(drumbeat, words) == []


def test_the_script_for_a_shell_is_shown():
    asked = f"{' '.join(COMMAND)} --show-completion; true"  # a shell with more to do stays there
    script = subprocess.check_output(["bash", "-c", asked], text=True)
    assert "complete -o default -F _drumbeat_completion drumbeat" in script
