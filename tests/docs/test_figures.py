"""The figures and diagrams of the pages are those that `docs/figures.py` and `docs/diagrams.py` draw."""

import pytest
from page_blocks import script


@pytest.mark.parametrize("name", ["figures", "diagrams"])
def test_the_stored_files_are_those_that_a_script_draws(name, tmp_path):
    drawing = script(name)
    drawing.main(tmp_path)
    for path in tmp_path.iterdir():
        stored = (drawing.FOLDER / path.name).read_bytes()
        assert path.read_bytes() == stored, f"draw them again with: python docs/{name}.py"


def test_the_gallery_and_a_page_that_names_the_command_show_each_figure(root):
    pages = {page.stem: page.read_text() for page in (root / "docs").glob("*/*.md") if page.stem != "paper"}
    for name in script("figures").FIGURES:
        shown = {page: text for page, text in pages.items() if f"figures/{name}.svg)" in text}
        assert "gallery" in shown
        assert all("python docs/figures.py" in text for text in shown.values())
