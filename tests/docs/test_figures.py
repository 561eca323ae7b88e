"""The figures of the pages are those that `docs/figures.py` draws."""

from page_blocks import script

figures = script("figures")


def test_the_stored_figures_are_those_that_it_draws(tmp_path):
    figures.main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in figures.FOLDER.iterdir()}
    for path in tmp_path.iterdir():
        stored = (figures.FOLDER / path.name).read_bytes()
        assert path.read_bytes() == stored, "draw them again with: python docs/figures.py"


def test_the_gallery_and_a_page_that_names_the_command_show_each_figure(root):
    pages = {page.stem: page.read_text() for page in (root / "docs").glob("*/*.md") if page.stem != "paper"}
    for name in figures.FIGURES:
        shown = {page: text for page, text in pages.items() if f"figures/{name}.svg)" in text}
        assert "gallery" in shown
        assert all("python docs/figures.py" in text for text in shown.values())
