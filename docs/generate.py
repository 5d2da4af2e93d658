"""Writes the pages of docs/ that are made from code; with --check only compares.

python docs/generate.py [--check]
"""

import sys
from pathlib import Path

from drumbeat.protocol.apis import APIS
from drumbeat.runtime.config.document import render as configuration
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.handlers.api_versions import advertised_versions

DOCS = Path(__file__).parent
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def protocol_support() -> str:
    """The page as it is, with the table between the markers made anew."""
    page = (DOCS / "protocol-support.md").read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
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
    return f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{after}"


PAGES = {"protocol-support.md": protocol_support, "configuration.md": configuration}


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
