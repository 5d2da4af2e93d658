"""Pieces of work share Spark tasks if they are small; each is done once, into files of its own."""

import os
from typing import NamedTuple

import pytest

from drumbeat.pipeline.progress import Counts, show_nothing
from drumbeat.pipeline.tasks import run_tasks


class Piece(NamedTuple):
    number: int
    bytes: int


class Done(NamedTuple):
    piece: Piece
    name: str
    rows: int = 1


def write(piece, directory, name):
    with open(os.path.join(directory, name), "x", encoding="utf-8") as file:
        file.write(str(piece.number))
    return Done(piece, name)


@pytest.mark.parametrize(
    ("sizes", "shared_bytes_max", "tasks"),
    [
        ([100], 1_000, 1),
        ([10] * 40, 0, 40),
        ([10] * 40, 20, 20),
        ([1_000, 900, *[1] * 50], 50, 3),
        ([0] * 7, 1_000, 1),
    ],
)
def test_small_pieces_share_tasks(spark, tmp_path, sizes, shared_bytes_max, tasks):
    pieces = [Piece(number, size) for number, size in enumerate(sizes)]
    done = run_tasks(spark, pieces, str(tmp_path), write, show_nothing, shared_bytes_max)
    assert sorted(each.piece for each in done) == pieces
    assert {(tmp_path / each.name).read_text() for each in done} == {
        str(piece.number) for piece in pieces
    }
    assert len({each.name.partition("-")[0] for each in done}) == tasks


def test_progress_ends_with_everything_counted(spark, tmp_path):
    shown = []
    pieces = [Piece(number, 5) for number in range(9)]
    run_tasks(spark, pieces, str(tmp_path), write, lambda *counts: shown.append(counts))
    assert shown[-1][:2] == (Counts(9, 45), 45)
