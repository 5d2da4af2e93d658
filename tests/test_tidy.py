"""The house rules, as a test: each with its reason, each with a list of exceptions that may only shrink."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from drumbeat.protocol.apis import APIS
from drumbeat.runtime.handlers import HANDLERS

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
# path::function -> lines it has today; may shrink, may not grow, nothing may be added.
LONG_FUNCTIONS: dict[str, int] = {}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node) is not None
            first = node.body[1] if has_docstring and len(node.body) > 1 else node.body[0]
            yield node.name, (node.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_functions_fit_a_screen(path):
    for name, lines in functions(path):
        allowed = LONG_FUNCTIONS.get(f"{relative(path)}::{name}", FUNCTION_LINES_MAX)
        assert lines <= allowed, f"{name} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_files_are_about_one_thing(path):
    assert len(path.read_text().splitlines()) <= FILE_LINES_MAX


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_module_says_what_it_is_for(path):
    text = path.read_text()
    assert not text or ast.get_docstring(ast.parse(text)), "a module docstring is missing"


def test_an_api_has_one_name_everywhere():
    """protocol/apis/x.py declares it, and its handler, if there is one, is a module of the same name."""
    for key, handler in HANDLERS.items():
        declared = APIS[key].request.__module__.rsplit(".", 1)[1]
        assert handler.__module__.rsplit(".", 1)[1] == declared
    files = {p.stem for p in (ROOT / "src/drumbeat/protocol/apis").glob("*.py")} - {"__init__"}
    assert files == {api.request.__module__.rsplit(".", 1)[1] for api in APIS.values()}


def test_no_module_is_dead():
    """Everything under src/ is imported by something, or is a way in."""
    imported = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module)
                imported |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
    from drumbeat.cli.main import VERBS

    ways_in = {"drumbeat.cli.main", *(f"drumbeat.cli.{module}" for module, _ in VERBS.values())}
    for path in SOURCES:
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        is_package = path.name == "__init__.py"
        assert is_package or module in imported | ways_in, f"nothing imports {module}"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_unfinished_marks(path):
    assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", path.read_text())


@pytest.mark.parametrize("path", TESTS, ids=relative)
def test_tests_do_not_sleep(path):
    """Waiting for a condition is faster and never flaky; a fixed sleep is neither."""
    if path.name != "test_tidy.py":
        assert not re.search(r"time\.sleep\(\d", path.read_text())


@pytest.mark.parametrize("path", DOCS, ids=relative)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{target} does not exist"


def test_every_decision_is_in_the_index():
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text()
    for path in folder.glob("[0-9]*.md"):
        assert path.name in index, f"{path.name} is not in docs/decisions/README.md"


def test_generated_pages_are_up_to_date():
    result = subprocess.run(
        [sys.executable, ROOT / "docs/generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
