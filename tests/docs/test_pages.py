"""Every command and every program on our pages is run, page by page."""

import pytest

from docs.pages import LANGUAGES, PAGES, blocks, runnable
from docs.player import Player

KNOWN = LANGUAGES | {"text", "mermaid", "csv", "json", "ini", "properties", "promql", "yaml"}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=str)
def test_a_page_can_be_followed(page, tmp_path):
    player = Player(tmp_path)
    try:
        for block in runnable(page):
            try:
                player.play(block)
            except AssertionError as problem:
                raise AssertionError(f"{block}: {problem}") from None
    finally:
        player.close()


def test_every_block_says_what_it_is():
    assert [str(b) for page in PAGES for b in blocks(page) if b.language not in KNOWN] == []
