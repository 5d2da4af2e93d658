"""Writes the pages of docs/ that are made from code; with --check only compares.

python docs/generate.py [--check]
"""

import sys
from pathlib import Path

import cli_reference
import diagrams
import tables_reference

from drumbeat.protocol.apis import APIS
from drumbeat.runtime.config.document import render as configuration
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.handlers.api_versions import advertised_versions

DOCS = Path(__file__).parent


def filled(name: str, **sections: str) -> str:
    """A page as it is, with what stands between its markers made anew."""
    page = (DOCS / name).read_text()
    for section, text in sections.items():
        begin, end = f"<!-- generated: {section} -->", f"<!-- end: {section} -->"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def protocol_support() -> str:
    rows = [
        "| Key | API | Served | Flexible from | Known but not served |",
        "|---|---|---|---|---|",
    ]
    for key, api in APIS.items():
        known = f"{api.versions[0]}-{api.versions[-1]}"
        if key in HANDLERS:
            first, last = advertised_versions(api)
            served, unserved = f"{first}-{last}", ""
        else:
            served, unserved = "", known
        flexible = "none" if api.flexible is None else str(api.flexible)
        rows.append(f"| {key} | {api.name} | {served} | {flexible} | {unserved} |")
    return filled("protocol-support.md", apis="\n".join(rows))


def rebalance() -> str:
    return filled(
        "rebalance.md",
        states=_mermaid(diagrams.state_diagram()),
        play=_mermaid(diagrams.rebalance_diagram()),
    )


def _mermaid(text: str) -> str:
    return f"```mermaid\n{text}\n```"


PAGES = {
    "protocol-support.md": protocol_support,
    "configuration.md": configuration,
    "rebalance.md": rebalance,
    "cli.md": cli_reference.render,
    "tables.md": tables_reference.render,
}


def main() -> int:
    stale = [name for name, make in PAGES.items() if (DOCS / name).read_text() != make()]
    if "--check" in sys.argv:
        for name in stale:
            print(f"docs/{name} is out of date: run 'make docs'")
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(PAGES[name]())
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
