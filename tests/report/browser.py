"""A headless browser that opens a page from its file and keeps what it complains of."""

import contextlib
import shutil

import pytest

FLAGS = ["headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"]
FLAGS += ["disable-component-update", "disable-sync"]
# Everything that a figure of the page must have drawn: marks in an SVG that the script made.
DRAWN = """() => Object.fromEntries([...document.querySelectorAll("[data-figure]")].map((figure) =>
    [figure.id, figure.querySelectorAll(".vega-embed svg.marks path").length]))"""
READY = """() => [...document.querySelectorAll("[data-figure]")].every((figure) =>
    !figure.clientWidth || figure.dataset.drawn)"""
ALL_DRAWN = """() => [...document.querySelectorAll("[data-figure]")].every((figure) => figure.dataset.drawn)"""

_SELECT = """(selection) => {
    for (const figure of document.querySelectorAll("[data-figure]")) delete figure.dataset.drawn;
    const form = document.querySelector("#shared");
    for (const box of form.elements) box.value = selection[box.name];
    form.dispatchEvent(new Event("change"));
    return [...form.elements].filter((box) => box.selectedOptions[0].disabled).map((box) => box.value);
}"""


def select(tab, selection):
    """Select one value of each shared choice, which must be possible, and wait until every figure is drawn."""
    assert tab.evaluate(_SELECT, selection) == []
    tab.wait_for_function(ALL_DRAWN)


@contextlib.contextmanager
def launched():
    """Give the browser; the test is skipped where there is none."""
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[f"--{flag}" for flag in FLAGS], timeout=0)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser, path, *, width=1100, theme="light", script=True):
    """Give a page that has drawn its figures, and the list of what went wrong: console, errors, network requests."""
    viewport = {"width": width, "height": 900}
    context = browser.new_context(viewport=viewport, color_scheme=theme, java_script_enabled=script)
    context.set_default_timeout(0)  # none
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith(("file:", "data:", "blob:")) or wrong.append(asked.url))
    page.goto(path.as_uri())
    if script:
        page.wait_for_function(READY)
    yield page, wrong
    context.close()
