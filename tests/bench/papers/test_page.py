"""The page of the papers' experiments, and its files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.bench.papers.search_runs import data_of
from tests.bench.papers.test_sections import LAYERS, NOSE, OPEVO, PRODUCTS
from tunesmith.bench.papers import nose, opevo
from tunesmith.bench.papers.page import EXPERIMENTS, open_folder, write_search
from tunesmith.errors import TunesmithError


def write_nose(folder: Path) -> str:
    figures, pictures = data_of(nose.EXPERIMENT, LAYERS, NOSE)
    return write_search(folder, "nose", figures, pictures, "tunesmith bench nose --quick")[1]


def test_the_page_has_a_part_for_each_experiment_that_was_done(tmp_path: Path) -> None:
    open_folder(tmp_path)
    figures, pictures = data_of(opevo.EXPERIMENT, PRODUCTS, OPEVO)
    data, _ = write_search(tmp_path, "opevo", figures, pictures, "tunesmith bench opevo")
    assert json.loads((tmp_path / "search-opevo.json").read_text()) == data
    assert {"machine", "versions", "date", "command"} <= data.keys()
    section = write_nose(tmp_path)
    page = (tmp_path / "search.md").read_text()
    assert section in page
    assert page.startswith("# The papers' experiments\n")
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    titles = {each.name: f"## {each.title}" for each in EXPERIMENTS}
    assert heads == [titles["nose"], titles["opevo"]], "whichever was done first"
    assert "Written by `tunesmith bench nose --quick`; as data: `search-nose.json`." in page
    assert page.count("- machine: ") == 2
    assert page.endswith("\n")
    assert "\n\n\n" not in page
    shown = re.findall(r"\]\((search-.*?\.svg)\)", page)
    assert len(shown) == 9, shown
    for name in shown:
        assert (tmp_path / name).exists()


def test_the_same_figures_make_the_same_page(tmp_path: Path) -> None:
    write_nose(tmp_path)
    before = (tmp_path / "search.md").read_text()
    write_nose(tmp_path)
    assert (tmp_path / "search.md").read_text() == before


@pytest.mark.parametrize("text", ["{", "[]", "null", "{}", '{"rows": []}', '{"machine": 3}'])
def test_a_broken_file_is_told_before_anything_runs(tmp_path: Path, text: str) -> None:
    (tmp_path / "search-opevo.json").write_text(text)
    with pytest.raises(TunesmithError) as caught:
        open_folder(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/search-opevo.json holds no figures of 'tunesmith bench opevo': remove it, "
        "or name another folder"
    )


def test_a_file_of_another_version_is_told(tmp_path: Path) -> None:
    write_nose(tmp_path)
    place = tmp_path / "search-nose.json"
    data = json.loads(place.read_text())
    for written in ({**data, "format": 1}, {key: data[key] for key in data if key != "format"}):
        place.write_text(json.dumps(written))
        with pytest.raises(TunesmithError, match="of another version: remove it, or name another"):
            open_folder(tmp_path)


def test_a_fault_of_the_page_is_no_fault_of_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_nose(tmp_path)

    def broken(_: object) -> str:
        raise KeyError("a bug")

    monkeypatch.setattr(nose, "section", broken)
    with pytest.raises(KeyError, match="a bug"):
        open_folder(tmp_path)


def test_a_file_that_lost_a_part_is_broken(tmp_path: Path) -> None:
    write_nose(tmp_path)
    place = tmp_path / "search-nose.json"
    data = json.loads(place.read_text())
    for name in ("rows", "settings", "problems", "speed_ups", "pictures"):
        place.write_text(json.dumps({key: data[key] for key in data if key != name}))
        with pytest.raises(TunesmithError) as caught:
            open_folder(tmp_path)
        assert str(caught.value) == (
            f"{place} lacks '{name}' of the figures of 'tunesmith bench nose': remove it, or name "
            "another folder"
        )


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TunesmithError, match=r"file is not a folder: name another"):
        open_folder(tmp_path / "file")
    (tmp_path / "search-nose.json").mkdir()
    with pytest.raises(TunesmithError, match=r"cannot read .*search-nose\.json: is a directory"):
        open_folder(tmp_path)
