"""`drumbeat config check`: of each key, whether it does anything, and what is wrong with it."""

import json

import pytest


@pytest.fixture
def check(drumbeat, tmp_path):
    def run(text: str):
        path = tmp_path / "server.properties"
        path.write_text(text)
        ran = drumbeat.attempt("config", "check", str(path), "--output", "json")
        return ran.exit_code, json.loads(ran.stdout)

    return run


def test_a_usable_file(check, drumbeat, tmp_path):
    code, report = check(
        "node.id=3\nnum.io.threads=8\nnum.partitions=1\nnum.partitions=4\n"
        "ssl.keystore.password=geheim\n"
    )
    assert (code, report["is_usable"], report["problems"]) == (0, True, [])
    assert [(one["line"], one["key"], one["verdict"]) for one in report["keys"]] == [
        (1, "node.id", "takes effect"),
        (2, "num.io.threads", "no effect here"),
        (3, "num.partitions", "overridden"),
        (4, "num.partitions", "takes effect"),
        (5, "ssl.keystore.password", "no effect here"),
    ]
    table = drumbeat("config", "check", str(tmp_path / "server.properties")).stdout
    assert table.splitlines()[-1] == "2 of 5 keys take effect; the file is usable"
    assert "geheim" not in table + json.dumps(report)


def test_everything_wrong_is_named_with_its_line(check):
    code, report = check("num.partitons=4\nlog.retention.ms=soon\nlog.dirs=/a,/b\n")
    assert (code, report["is_usable"]) == (1, False)
    verdicts = {one["key"]: (one["verdict"], one["why"]) for one in report["keys"]}
    assert verdicts["num.partitons"][0] == "wrong"
    assert "did you mean 'num.partitions'?" in verdicts["num.partitons"][1]
    assert verdicts["log.retention.ms"][1].startswith("expected a whole number")
    assert len(report["problems"]) >= 2


def test_notes_are_shown(check):
    _, report = check("authorizer.class.name=kafka.Acl\n")
    assert "nothing is authorized here" in report["notes"][0]


def test_text_that_is_no_properties(drumbeat, tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("a=1\nb=\\uxyz\n")
    ran = drumbeat.attempt("config", "check", str(path))
    assert ran.exit_code == 1
    assert ran.stderr.startswith(f"drumbeat: {path}:2: ")
