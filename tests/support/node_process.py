"""`drumbeat up` as a process of its own: started, watched, stopped and killed by its id."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0
COMMAND = (sys.executable, "-m", "drumbeat.cli.main")
_WITHOUT_UVLOOP = (
    "import sys; sys.modules['uvloop'] = None; from drumbeat.cli.main import main; main()"
)
LOOPS = {"uvloop": COMMAND, "asyncio": (sys.executable, "-c", _WITHOUT_UVLOOP)}


class NodeProcess:
    """`with NodeProcess("--memory", logs=tmp_path / "node.log") as node:` serves on a free port."""

    def __init__(
        self,
        *options: str,
        logs: Path,
        port: int = 0,
        prefix: Sequence[str] = (),
        loop: str = "uvloop",
    ) -> None:
        self._arguments = (*prefix, *LOOPS[loop], "up", "--port", str(port), *options)
        self.logs = logs
        self.ready: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "NodeProcess":
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the node was not started"
        return self._process

    @property
    def bootstrap_servers(self) -> str:
        return self.ready[0].removeprefix("ready ")

    @property
    def log_text(self) -> str:
        return self.logs.read_text()

    @property
    def peak_rss_bytes(self) -> int:
        """The most memory that the process has had since `forget_peak_rss`, or since it began."""
        return 1024 * int(self._status("VmHWM").split()[0])

    def forget_peak_rss(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def start(self) -> None:
        """Returns when it serves."""
        with self.logs.open("ab") as logs:
            self._process = subprocess.Popen(self._arguments, stdout=subprocess.PIPE, stderr=logs)
        try:
            self.ready = self._read_lines(3)
        except BaseException:
            self.kill()
            raise

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(number)
        return self._ended()

    def kill(self) -> None:
        """As a power cut would, except that the page cache stays."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            self._ended()

    def _ended(self) -> int:
        code = self.process.wait(STOP_TIMEOUT_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def _read_lines(self, count: int) -> list[str]:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        data = b""
        with DefaultSelector() as selector:
            selector.register(descriptor, EVENT_READ)
            while data.count(b"\n") < count:
                arrived = selector.select(START_TIMEOUT_S) and os.read(descriptor, 4096)
                assert arrived, f"no ready line, but {data!r} and in the log: {self.log_text}"
                data += arrived
        return data.decode().splitlines()

    def _status(self, name: str) -> str:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return line.partition(":")[2].strip()
        raise KeyError(name)


class Ended(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: str, prefix: Sequence[str] = (), cwd: Path | None = None) -> Ended:
    """Run `drumbeat` to its end."""
    ended = subprocess.run(
        (*prefix, *COMMAND, *arguments),
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
        check=False,
        cwd=cwd,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def after(statement: str) -> tuple[str, ...]:
    """A command's prefix that has its process execute `statement` first, for limits on it."""
    code = f"import os, sys; {statement}; os.execv(sys.argv[1], sys.argv[1:])"
    return (sys.executable, "-c", code)


def with_limit(name: str, value: int) -> tuple[str, ...]:
    return after(f"import resource; resource.setrlimit(resource.{name}, ({value}, {value}))")
