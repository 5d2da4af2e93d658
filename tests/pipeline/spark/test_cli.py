"""`drumbeat pipeline run` as people meet it: what it prints, what it refuses and why."""

import re
import subprocess
import sys
from contextlib import nullcontext

import pytest

from drumbeat.cli.main import main
from drumbeat.pipeline import session
from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.sources.log_folder import LogFolder
from drumbeat.pipeline.warehouse import Warehouse
from pipeline.golden_log import A, LogWriter, generation
from support.log_folders import append_commits, log_folder, segment_path

EXIT_OK, EXIT_DAMAGE, EXIT_USAGE, EXIT_FAILED = 0, 1, 2, 3


def run(capsys, *arguments):
    """Exit code and what was said; for what is refused before Spark starts."""
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "run", *map(str, arguments)])
    return ended.value.code, capsys.readouterr().err


def run_alone(*arguments):
    """As a process: a Spark session of its own."""
    command = [sys.executable, "-m", "drumbeat.cli.main", "pipeline", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_options_are_explained(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "run", "--help"])
    assert ended.value.code == EXIT_OK
    assert "--warehouse" in capsys.readouterr().out


def test_a_missing_option_is_a_usage_error(capsys, tmp_path):
    code, said = run(capsys, "--source", tmp_path)
    assert code == EXIT_USAGE
    assert "--warehouse" in said


@pytest.mark.parametrize("interval", ["", "1", "0s", "1.5s", "fast", "1 d"])
def test_a_lag_interval_is_a_number_and_a_unit(capsys, tmp_path, interval):
    arguments = ("--source", tmp_path, "--warehouse", tmp_path / "w", "--lag-interval", interval)
    code, said = run(capsys, *arguments)
    assert code == EXIT_USAGE
    assert "such as 1s" in said


def test_what_cannot_be_done_is_said_before_spark_starts(capsys, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(3))
    refusals = [
        (tmp_path / "gone", tmp_path / "w", f"{tmp_path / 'gone'} does not exist"),
        (tmp_path, tmp_path / "w", "holds no partition of __consumer_offsets"),
        (folder, folder, "is no warehouse and not empty"),
        (folder, "/proc/none", "cannot write to /proc/none"),
    ]
    for source, warehouse, text in refusals:
        code, said = run(capsys, "--source", source, "--warehouse", warehouse)
        assert code == EXIT_FAILED
        assert said.startswith("drumbeat pipeline: ")
        assert text in said
    with Warehouse(str(tmp_path / "w")).writer("another"):
        code, said = run(capsys, "--source", folder, "--warehouse", tmp_path / "w")
    assert code == EXIT_FAILED
    assert "is writing to" in said


def test_a_run_says_what_it_did_and_nothing_else(tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(30))
    path = append_commits(folder, 1, 0, range(10))
    path.write_bytes(path.read_bytes()[:-2] + b"??")
    log = LogWriter()
    log.append(1_000, generation("orders", 2, 900, A))
    log.append(2_000, generation("orders", 1, 1_900, A))
    segment = segment_path(folder, 2, 0)
    segment.parent.mkdir()
    segment.write_bytes(log.segment())
    ended = run_alone("--source", folder, "--warehouse", tmp_path / "w", "--master", "local[1]")
    assert ended.returncode == EXIT_DAMAGE
    staged, derived, _, *tables, state = ended.stdout.splitlines()
    assert staged.startswith("staged 32 records, ")
    assert derived.startswith("derived from 32 records, ")
    assert state == "state 2"
    counts = dict(line.split() for line in tables)
    assert counts.keys() == TABLES.keys()
    assert (counts["log_records"], counts["offset_commits"], counts["verification"]) == (
        *("32", "30"),
        "1",
    )
    *progress, damage, violation = ended.stderr.splitlines()
    assert all(
        re.fullmatch(r"(staging|deriving): +\d+ %  [\d,]+ records, [\d,]+ records/s", line)
        for line in progress
    )
    assert damage.startswith(f"drumbeat pipeline: damaged, read up to there: {path}, byte 0: ")
    assert violation == (
        "drumbeat pipeline: violation of generation_grows, times: 1 (table verification)"
    )


def test_deriving_can_be_left_out(capsys, monkeypatch, spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(30))
    monkeypatch.setattr(session, "spark_session", lambda *_: nullcontext(spark))
    main_options = ["--source", str(folder), "--warehouse", str(tmp_path / "w"), "--stage-only"]
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "run", *main_options])
    assert not ended.value.code
    tables = Warehouse(str(tmp_path / "w")).manifest().tables
    assert sorted(tables) == ["log_records", "pipeline_progress"]
    assert "derived" not in capsys.readouterr().out


def generate(directory, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "generate", str(directory), *map(str, arguments)])
    return ended.value.code


def test_a_log_can_be_made_up(capsys, tmp_path):
    options = ("--records", 3_000, "--groups", 20, "--seed", 4)
    assert not generate(tmp_path / "a", *options)
    assert capsys.readouterr().out.startswith("3,000 records of 20 groups, ")
    assert not generate(tmp_path / "b", *options)
    first, second = (sorted((tmp_path / name).rglob("*.log")) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert LogFolder.open(str(tmp_path / "a")).cluster_id == "generated"


def test_a_log_is_made_up_only_where_nothing_is(capsys, tmp_path):
    (tmp_path / "notes").write_text("")
    assert generate(tmp_path, "--records", 10) == EXIT_FAILED
    assert "is there already and not empty" in capsys.readouterr().err
    assert generate("/proc/none", "--records", 10) == EXIT_FAILED
    assert "cannot write to /proc/none" in capsys.readouterr().err
    assert generate(tmp_path / "new", "--records", -1) == EXIT_USAGE
