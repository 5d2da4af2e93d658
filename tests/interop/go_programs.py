"""Go: our program on franz-go."""

import subprocess
from pathlib import Path

from interop.availability import need, resolve
from interop.stage import Client, MemberOptions

MODULE = Path(__file__).parent / "go"
BUILD_TIMEOUT_S = 300.0


def build(folder: Path) -> str:
    """The program, built; Go keeps modules and objects in caches of its own, outside the tree."""
    need("go", purpose="franz-go")
    resolve(["go", "mod", "download"], MODULE, purpose="franz-go")
    binary = str(folder / "interop")
    subprocess.run(
        ["go", "build", "-buildvcs=false", "-o", binary, "."],
        cwd=MODULE,
        check=True,
        timeout=BUILD_TIMEOUT_S,
    )
    return binary


def member_of(binary: str) -> Client:
    def command(options: MemberOptions) -> list[str]:
        instance = options.group_instance_id
        return [
            *(binary, "member"),
            *("-servers", options.servers),
            *("-group", options.group_id),
            *("-topic", options.topic),
            *("-assignor", options.assignor),
            *("-session-timeout", f"{options.session_timeout_ms}ms"),
            *(("-instance", instance) if instance else ()),
        ]

    return command
