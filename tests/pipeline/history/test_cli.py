"""`drumbeat history` as people meet it: what it prints, what it refuses and why."""

import json
import subprocess
import sys

import pytest

from drumbeat.cli.main import main
from drumbeat.pipeline.warehouse import Warehouse

EXIT_OK, EXIT_USAGE, EXIT_FAILED = 0, 2, 3


@pytest.fixture
def ask(capsys):
    def ask(*arguments):
        """Exit code, answer, and what was said beside it."""
        with pytest.raises(SystemExit) as ended:
            main(["history", *map(str, arguments)])
        told = capsys.readouterr()
        return ended.value.code, told.out, told.err

    return ask


@pytest.mark.parametrize("verb", ["groups", "rebalances", "lag", "state", "findings"])
def test_answers_as_table_json_and_csv(ask, golden, verb):
    code, table, said = ask(verb, "--warehouse", golden)
    assert (code, said) == (EXIT_OK, "")
    _, text, _ = ask(verb, "--warehouse", golden, "--output", "json")
    _, lines, _ = ask(verb, "--warehouse", golden, "--output", "csv")
    documents = json.loads(text)
    assert documents
    assert list(documents[0]) == lines.split("\n")[0].split(",")
    assert len(lines.splitlines()) == len(documents) + 1
    assert max(map(len, table.splitlines())) <= 120


@pytest.mark.parametrize("verb", ["groups", "rebalances", "lag", "findings"])
def test_wide_tables_have_every_column(ask, golden, verb):
    _, table, _ = ask(verb, "--warehouse", golden, "--wide")
    _, text, _ = ask(verb, "--warehouse", golden, "--output", "json")
    documents = json.loads(text)
    assert table.split("\n")[0].split() == list(documents[0])
    assert len(table.splitlines()) == len(documents) + 1


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("verb", ["groups", "rebalances", "lag", "findings"])
def test_tables_are_as_wide_as_there_is_room(ask, golden, monkeypatch, verb, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, table, _ = ask(verb, "--warehouse", golden)
    assert code == EXIT_OK
    assert max(map(len, table.splitlines())) <= columns


def test_state_of_one_group(ask, golden):
    arguments = ("state", "--warehouse", golden, "--group", "orders")
    _, table, _ = ask(*arguments, "--at", "1970-01-01T00:00:09.5Z")
    assert table.startswith(
        "orders, 1970-01-01T00:00:09.500Z: classic, Stable, generation 4, range, led by a\n"
    )
    assert "2 members" in table
    _, text, _ = ask(*arguments, "--at", 9500, "--output", "json")
    document = json.loads(text)
    assert (document["at"], document["generation"]) == ("1970-01-01T00:00:09.500Z", 4)
    assert document["partitions"][0]["committed_offset"] == 30
    _, table, _ = ask(*arguments)
    assert table == "orders: no such group at the end of the log\n"


def test_undo_is_a_file_for_the_reset_tool(ask, golden):
    code, text, said = ask("undo", "--warehouse", golden, "--group", "orders", "--at", 5000)
    assert (code, text, said) == (
        EXIT_OK,
        "orders,0,15\norders,1,20\norders,2,5\norders,3,7\n",
        "",
    )
    _, text, said = ask("undo", "--warehouse", golden, "--group", "payments", "--at", 71_500)
    assert text == ""
    assert "orders-0 had no offset then" in said
    arguments = ("undo", "--warehouse", golden, "--group", "orders", "--at", 5000)
    _, text, _ = ask(*arguments, "--output", "json")
    assert json.loads(text)["resets"][0]["offset"] == 15


def test_diff_takes_two_times(ask, golden):
    arguments = ("diff", "9500", "1970-01-01T00:00:45Z", "--warehouse", golden, "--output", "csv")
    code, text, _ = ask(*arguments)
    assert code == EXIT_OK
    assert "orders,offset_moved,orders,1,,20,25" in text.splitlines()


def test_any_sql(ask, golden):
    query = "SELECT group_id, count(*) AS n FROM members GROUP BY ALL ORDER BY ALL"
    _, text, _ = ask("sql", query, "--warehouse", golden, "--output", "csv")
    assert text.splitlines()[:2] == ["group_id,n", "modern,2"]


def test_plot_names_the_picture(ask, golden, tmp_path):
    path = tmp_path / "orders.png"
    code, text, said = ask("plot", "--warehouse", golden, "--group", "orders", "--out", path)
    assert (code, text, said) == (EXIT_OK, f"{path}\n", "")
    assert path.stat().st_size > 10_000
    code, _, said = ask(
        "plot", "--warehouse", golden, "--group", "orders", "--out", tmp_path / "no" / "x.png"
    )
    assert (code, "cannot write" in said) == (EXIT_FAILED, True)


def test_what_cannot_be_answered_is_said(ask, golden, staged, tmp_path):
    (tmp_path / "other").mkdir()
    with Warehouse(str(tmp_path / "empty")).writer("r") as writer:
        writer.publish(writer.manifest, now_ms=1)
    refusals = [
        (("groups", "--warehouse", tmp_path / "gone"), "gone does not exist; drumbeat pipeline"),
        (("groups", "--warehouse", tmp_path / "other"), "other is no warehouse"),
        (("groups", "--warehouse", tmp_path / "empty"), "empty is empty"),
        (("groups", "--warehouse", staged), "not derived yet"),
        (("sql", "SELECT * FROM members", "--warehouse", staged), "not derived yet: log_cov"),
        (("lag", "--warehouse", golden, "--group", "Orders"), "did you mean 'orders'"),
        (("state", "--warehouse", golden, "--group", "order"), "did you mean 'orders'"),
        (("sql", "SELEC 1", "--warehouse", golden), 'syntax error at or near "SELEC"'),
        (("sql", "SELECT nope FROM members", "--warehouse", golden), '"nope" not found'),
    ]
    for arguments, text in refusals:
        code, answer, said = ask(*arguments)
        assert (code, answer) == (EXIT_FAILED, "")
        assert said.startswith("drumbeat history: ")
        assert text in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("groups",),
        ("groups", "--warehouse", "w", "--at", "yesterday"),
        ("groups", "--warehouse", "w", "--output", "xml"),
        ("diff", "1", "--warehouse", "w"),
        ("diff", "1", "soon", "--warehouse", "w"),
        ("undo", "--warehouse", "w", "--group", "g"),
        ("plot", "--warehouse", "w", "--group", "g"),
    ],
)
def test_wrong_questions_are_usage_errors(ask, arguments):
    code, answer, said = ask(*arguments)
    assert (code, answer) == (EXIT_USAGE, "")
    assert "Usage:" in said


def test_a_file_that_is_gone_is_named(ask, tmp_path, staged):
    import shutil

    shutil.copytree(staged, tmp_path / "w")
    [path] = (tmp_path / "w" / "log_records").rglob("*.parquet")
    path.unlink()
    code, _, said = ask("state", "--warehouse", tmp_path / "w")
    assert (code, path.name in said) == (EXIT_FAILED, True)


def test_spark_is_not_needed(golden):
    script = (
        "import sys\nsys.modules['pyspark'] = None\nfrom drumbeat.cli.main import main\n"
        f"main(['history', 'groups', '--warehouse', {str(golden)!r}, '--group', 'flow'])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (ended.returncode, b"streams" in ended.stdout, ended.stderr) == (EXIT_OK, True, b"")
