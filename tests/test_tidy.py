"""The house rules, as tests. Lists of exceptions may only shrink."""

import ast
import re
import subprocess
import sys
from pathlib import Path

from drumbeat.protocol.apis import APIS, ApiKey
from drumbeat.runtime.handlers import HANDLERS

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
DOCS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *(ROOT / "docs").rglob("*.md"),
]

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


def test_functions_fit_a_screen():
    too_long = [
        f"{relative(path)}::{name} has {lines} lines"
        for path in SOURCES
        for name, lines in functions(path)
        if lines > LONG_FUNCTIONS.get(f"{relative(path)}::{name}", FUNCTION_LINES_MAX)
    ]
    assert too_long == []


def test_files_are_about_one_thing():
    lines = {relative(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: count for path, count in lines.items() if count > FILE_LINES_MAX} == {}


def test_every_module_says_what_it_is_for():
    texts = {relative(path): path.read_text() for path in SOURCES}
    silent = [
        path for path, text in texts.items() if text and not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


def test_an_api_has_one_name_everywhere():
    """protocol/apis/x.py declares it; core/handlers/x.py or runtime/handlers/x.py answers it."""
    assert {key: api.key for key, api in APIS.items()} == {key: key for key in ApiKey}
    declared = {key: api.request.__module__.rsplit(".", 1)[1] for key, api in APIS.items()}
    files = {p.stem for p in (ROOT / "src/drumbeat/protocol/apis").glob("*.py")} - {"__init__"}
    assert files == set(declared.values())
    handled = {p.stem for p in (ROOT / "src/drumbeat").glob("*/handlers/*.py")}
    assert {declared[key] for key in HANDLERS} <= handled


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
    from drumbeat.cli.verbs import VERBS

    ways_in = {
        "drumbeat.cli.main",
        "drumbeat.runtime.config.document",
        "drumbeat.protocol.codec_modules",  # setup.py writes what it says
        "drumbeat.testing.pytest_plugin",  # pytest's entry point
        *(f"drumbeat.cli.{module}" for module, _ in VERBS.values()),
        *(f"drumbeat.protocol.apis.{key.name.lower()}" for key in ApiKey),
    }
    for path in SOURCES:
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        is_package = path.name == "__init__.py"
        assert is_package or module in imported | ways_in, f"nothing imports {module}"


def test_no_unfinished_marks():
    marks = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    assert [relative(path) for path in SOURCES if marks.search(path.read_text())] == []


def test_tests_do_not_sleep():
    """Waiting for a condition is faster and never flaky; a fixed sleep is neither."""
    sleep = re.compile(r"time\.sleep\(\d")
    others = [path for path in TESTS if path.name != "test_tidy.py"]
    assert [relative(path) for path in others if sleep.search(path.read_text())] == []


def test_links_lead_somewhere():
    broken = [
        f"{relative(path)}: {target}"
        for path in DOCS
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text())
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert broken == []


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
