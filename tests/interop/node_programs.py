"""Node: our programs on kafkajs."""

import hashlib
import os
import shutil
from pathlib import Path

from interop.availability import cache_dir, need, one_at_a_time, resolve
from interop.stage import Client, MemberOptions

PROGRAMS = Path(__file__).parent / "node"
MANIFESTS = ("package.json", "package-lock.json")
INSTALL = ("npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")


def install() -> Path:
    """The folder with the modules, kept by what the lock file asks for."""
    need("node", "npm", purpose="kafkajs")
    wanted = b"".join((PROGRAMS / name).read_bytes() for name in MANIFESTS)
    folder = cache_dir() / f"node-{hashlib.sha256(wanted).hexdigest()[:16]}"
    with one_at_a_time("node"):
        if not folder.is_dir():
            _install_into(folder)
    return folder / "node_modules"


def _install_into(folder: Path) -> None:
    # Installed aside and renamed, so that half an installation is never taken for a whole one.
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    for name in MANIFESTS:
        shutil.copy(PROGRAMS / name, unfinished)
    try:
        resolve(INSTALL, unfinished, purpose="kafkajs")
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def node_command(modules: Path, program: str, *arguments: str) -> list[str]:
    return ["env", f"NODE_PATH={modules}", "node", str(PROGRAMS / program), *arguments]


def member_of(modules: Path) -> Client:
    def command(options: MemberOptions) -> list[str]:
        assert options.group_instance_id is None, "kafkajs knows no static members"
        return node_command(
            modules,
            "member.js",
            options.servers,
            options.group_id,
            options.topic,
            options.assignor,
            str(options.session_timeout_ms),
        )

    return command
