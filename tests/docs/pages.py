"""Code blocks of our Markdown pages, and shell blocks as single commands."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
# Quotes examples/, which run as they are: tests/testing/test_examples.py compares.
QUOTING = ROOT / "docs/testing.md"
PAGES = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
    if path != QUOTING
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"sh", "python"}  # what can be run; "text", "mermaid", "csv" and such cannot


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = (ROOT / page).read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for found in _FENCE.finditer(text)
    ]


def runnable(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language in LANGUAGES]


def commands(code: str) -> list[str]:
    """One for each line, where lines that end in a backslash go on; comments are not."""
    joined = code.replace("\\\n", " ")
    lines = (line.strip() for line in joined.splitlines())
    return [re.sub(r"\s+# .*$", "", line) for line in lines if line and not line.startswith("#")]
