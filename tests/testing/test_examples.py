"""The examples run as they are, and what the documentation shows is one of them."""

import re
import shutil
from pathlib import Path

import pytest

from testing.projects import outcomes, run_pytest

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("test_*.py"))
PAGE = ROOT / "docs/testing.md"

pytestmark = pytest.mark.clients


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("block", blocks("python"))
def test_what_the_page_shows_is_in_an_example(block):
    assert any(unindented(block) in unindented(path.read_text()) for path in EXAMPLES)


def test_the_command_of_the_page_runs_all_examples_in_a_project_of_their_own(tmp_path):
    for path in EXAMPLES:
        shutil.copy(path, tmp_path)
    (command,) = blocks("sh")
    program, *arguments = command.split()
    assert program == "pytest"
    result = run_pytest(tmp_path, *arguments)
    tests = sum(path.read_text().count("def test_") for path in EXAMPLES)
    assert outcomes(result.stdout)["passed"] == tests, result.stdout


def test_settings_of_the_page_work(tmp_path):
    (settings,) = blocks("ini")
    (tmp_path / "pytest.ini").write_text(settings)
    (tmp_path / "test_settings.py").write_text(
        "def test_it(drumbeat_cluster):\n"
        "    assert drumbeat_cluster.node.broker.config.num_partitions == 3\n"
        "    assert len(drumbeat_cluster.end_offsets('orders')) == 6\n"
    )
    result = run_pytest(tmp_path)
    assert outcomes(result.stdout)["passed"] == 1, result.stdout
