"""Does what a page says, in its order, in an empty folder, as a reader would.

What a page tells to install is only checked to exist. `drumbeat up` goes on in the background, on
a free port; the addresses that pages use become its address. What never ends is interrupted once
it has said something.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

from docs.pages import ROOT, Block, commands
from docs.spark_shell import SparkShell
from drumbeat.cli.demo.processes import SteadyProducer
from drumbeat.client import SyncAdmin, SyncProducer
from drumbeat.client.admin import NewTopic
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from support.node_process import NodeProcess

TIMEOUT_S = 100
TOPIC = "orders"
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # little data: not worth to optimise for
ADDRESSES = re.compile(r"\b(127\.0\.0\.1|localhost|broker-1):9092\b")
SET_UP = re.compile(r"^([A-Z_]+=\S+ )?(make|pip|python3? -m venv|\.|git clone|cd) ")
ENDLESS = re.compile(r"--follow|--watch|--keep|for \w+ in consumer|processAllAvailable\(\) #")
ENDS_WELL = (0, 130, -signal.SIGINT)


class Player:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._node: NodeProcess | None = None
        self._spark: SparkShell | None = None

    def close(self) -> None:
        if self._spark is not None:
            self._spark.close()
        if self._node is not None:
            self._node.kill()

    def play(self, block: Block) -> None:
        if block.language == "python":
            self._run_python(block)
            return
        for command in commands(block.code):
            self._run_command(command)

    @property
    def address(self) -> str:
        if self._node is None:
            self._up(["--data", "drumbeat-data"])
        return self._node.bootstrap_servers

    def _run_command(self, command: str) -> None:
        if SET_UP.match(command):
            check_set_up(command)
        elif command.startswith("drumbeat up"):
            self._up(command.split()[2:])
        else:
            self._run(["bash", "-e", "-o", "pipefail", "-c", self._here(command)])

    def _run_python(self, block: Block) -> None:
        code = self._here(block.code)
        name = f"{block.page.stem.replace('-', '_')}_{block.line}.py"
        if "def test_" in code:
            name = f"test_{name}"
            self._write(name, code)
            self._run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name])
            return
        entry = re.search(r"^async def (\w+)\(\)", code, re.MULTILINE)
        if entry is not None and "asyncio.run" not in code:
            code += f"\n\nimport asyncio\n\nasyncio.run({entry[1]}())\n"
        self._write(name, code)
        is_endless = bool(ENDLESS.search(code))
        if "SparkSession" in code and not is_endless:
            self._run_in_spark_shell(name)
        else:
            self._run([sys.executable, "-u", name], is_endless)

    def _run_in_spark_shell(self, name: str) -> None:
        if self._spark is None:
            self._spark = SparkShell(self.folder, self._environment())
        self._spark.run(name, TIMEOUT_S)

    def _write(self, name: str, code: str) -> None:
        (self.folder / name).write_text(code)

    def _run(self, command: list[str], is_endless: bool | None = None) -> None:
        is_endless = ENDLESS.search(command[-1]) is not None if is_endless is None else is_endless
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            said = ""
            try:
                if is_endless:
                    said = self._first_line(process)
                    os.killpg(process.pid, signal.SIGINT)
                said += process.communicate(timeout=TIMEOUT_S)[0]
            finally:
                process.kill()
        wanted = ENDS_WELL if is_endless else (0,)
        assert process.returncode in wanted, f"{command[-1]!r} ended so:\n{said}"

    def _first_line(self, process: subprocess.Popen[str]) -> str:
        """What it says while records keep coming; nothing, if that is not within the time limit."""
        overdue = threading.Timer(TIMEOUT_S, process.kill)
        overdue.start()
        producer = SteadyProducer(self.address, [TOPIC])
        try:
            said = process.stdout.readline()
        finally:
            producer.stop()
            overdue.cancel()
        assert said, f"{process.args[-1]!r} said nothing"
        return said

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        return os.environ | {
            "PATH": path,
            "DRUMBEAT_BOOTSTRAP_SERVERS": self.address,
            "PYSPARK_SUBMIT_ARGS": f"--driver-java-options '{QUICK_JVM}' pyspark-shell",
        }

    def _here(self, text: str) -> str:
        return ADDRESSES.sub(self.address, text) if ADDRESSES.search(text) else text

    def _up(self, options: list[str]) -> None:
        """The node of the page; what readers had before they came is in it already."""
        if self._node is not None:
            self._node.kill()
        if "--data" in options:
            place = options.index("--data") + 1
            options[place] = str(self.folder / options[place])
        elif "--memory" not in options:
            options += ["--data", str(self.folder / "drumbeat-data")]
        # A group that just begins would wait three seconds for more members.
        options += ["--set", "group.initial.rebalance.delay.ms=0"]
        self._node = NodeProcess(*options, logs=self.folder / "node.log")
        self._node.start()
        prepare(self._node.bootstrap_servers)


def prepare(servers: str) -> None:
    """Topic `orders` with records, and a group `billing` that has consumed half of them."""
    with SyncAdmin(bootstrap_servers=servers) as admin:
        if TOPIC in admin.list_topics():
            return
        admin.create_topics([NewTopic(name=TOPIC, num_partitions=3)])
        with SyncProducer(bootstrap_servers=servers) as producer:
            for number in range(30):
                producer.send(TOPIC, value=b"order %d" % number, partition=number % 3)
        admin.alter_group_offsets(
            "billing", {TopicPartition(TOPIC, n): OffsetAndMetadata(5) for n in range(3)}
        )


def check_set_up(command: str) -> None:
    """That a reader would find what is to be installed or made."""
    words = re.sub(r"^[A-Z_]+=\S+ ", "", command).split()
    if words[0] == "make":
        targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        named = [word for word in words[1:] if "=" not in word]
        assert set(named) <= targets, command
    extras = re.findall(r"\[([\w,]+)\]", command) if words[0] == "pip" else []
    for extra in ",".join(extras).split(",") if extras else []:
        assert re.search(rf"^{extra} = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE), (
            f"no extra {extra!r}: {command}"
        )
