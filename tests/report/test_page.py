"""The HTML page in a real browser: from disk, without network, whole, quick, and for everybody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report import networks
from trueport.report.data import Report
from trueport.report.forms import rendered
from trueport.report.html.render import page as render_page

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
if networks.chromium() is None:
    pytest.skip("there is no chromium", allow_module_level=True)

Open = Callable[..., Any]
_POINT = """([side, name]) => {
  const view = report.views[side], node = view.model.shown(report.models[side].byName.get(name));
  const box = view.canvas.getBoundingClientRect();
  const [x, y] = [node.x + node.width / 2, node.y + node.height / 2];
  return [box.left + view.x + x * view.scale, box.top + view.y + y * view.scale];
}"""
_SHOWN = "side => report.views[side].drawing.items.map(item => item.kind === 'group' ? item.path : item.name)"
_INK = """side => { const view = report.views[side], c = view.canvas;
  const data = view.context.getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) + (data[i + 1] << 8) + data[i + 2]);
  return seen.size; }"""


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """``open_page(html)``: the page from disk; what went wrong in it fails the test."""
    troubles: list[str] = []
    opened: list[Any] = []

    def opener(text: str, *, width: int = 1400, scheme: str = "light") -> Any:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(networks.PATIENCE)
        page.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: troubles.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        return page

    yield opener
    for context in opened:
        context.close()
    assert troubles == []


def settle(page: Any) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def search(page: Any, words: str) -> None:
    page.fill("#search", words)
    page.press("#search", "Enter")
    settle(page)


def test_the_verdict_stands_at_the_top(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    assert page.title() == "residual.onnx → residual · Trueport report"
    box = page.locator("#verdict-box")
    assert box.locator("strong").inner_text() == "Faithful"
    assert "normal float32 rounding (limit 8 ×)" in box.inner_text()
    assert box.bounding_box()["y"] < 200
    assert page.locator(".facts").inner_text().count("\n") > 6


def test_the_machine_is_named(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    card = page.locator("h3", has_text="Compared on").locator("..")
    found = to_tensorflow.comparison.machine if to_tensorflow.comparison else None
    assert found is not None
    assert found.architecture in card.inner_text() and found.versions["tensorflow"] in card.inner_text()


def test_a_departure_is_said_as_loudly(open_page: Open, departing: dict[str, Any]) -> None:
    page = open_page(render_page(departing))
    assert page.locator("#verdict-box.bad strong").inner_text() == "Not faithful"
    assert "the weight is transposed" in page.locator("#plot").inner_text()
    assert page.locator("#plot .hot").count() == 1
    assert "∞" in page.locator("#outputs-body").inner_text()


def test_the_plot_shows_every_value(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    profile = to_tensorflow.profile
    assert profile is not None
    points = page.locator("#plot path.whole").get_attribute("d")
    assert len(re.findall(r"[ML]", points)) == len(profile.figures)
    assert page.locator("#plot circle").count() == len(profile.figures)
    assert page.locator("#plot path.floor").count() == 1
    page.click("[data-plot=ratio]")
    assert page.locator("#plot path.limit").count() == 1
    assert "8 ×" in page.locator("#plot .legend").inner_text()


def test_a_point_of_the_plot_leads_to_its_node(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    page.focus("#plot .card")
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    profile = to_tensorflow.profile
    assert profile is not None
    assert profile.figures[1].node in page.locator("#panel").inner_text()
    assert profile.figures[1].value in page.locator("#tip").inner_text()


def test_a_node_is_found_and_shown_with_its_partner(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    search(page, "blocks/1/second conv")
    panel = page.locator("#panel").inner_text()
    for words in ("Conv exact", "/blocks/1/second/Conv", "whole error", "its own", "noise floor", "Conv2D", "pads"):
        assert words in panel.replace("\n", " ") or words in panel
    assert "float32[4, 4, 3, 3]" in panel and "float32[n, 4, 8, 8]" in panel
    assert page.locator("#panel svg[role=img] rect").count() >= 4
    page.click("#panel .linked button >> nth=0")
    assert "/blocks/1/second/Conv" in page.locator("#panel .linked").inner_text()


def test_clicking_a_node_shows_its_figures(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    page.click("#unfold")
    search(page, "/blocks/0/Add")
    search(page, "/head/fc/Gemm")
    for side, name in (("source", "/head/fc/Gemm"), ("source", "/head/Flatten")):
        page.locator(f"#canvas-{side}").scroll_into_view_if_needed()
        page.mouse.click(*page.evaluate(_POINT, [side, name]))
        settle(page)
        assert name in page.locator("#panel .where").inner_text()
        assert "Measured error" in page.locator("#panel").inner_text()


def test_layers_fold_and_unfold(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    page.click("#fold")
    folded = page.evaluate(_SHOWN, "source")
    assert "blocks" in folded and "/blocks/0/Add" not in folded
    assert page.evaluate(_SHOWN, "target").count("blocks") == 1
    page.click("#unfold")
    assert "/blocks/0/first/Conv" in page.evaluate(_SHOWN, "source")
    page.click("#fold")
    page.locator("#canvas-source").scroll_into_view_if_needed()
    page.mouse.dblclick(*page.evaluate(_POINT, ["source", "/blocks/0/Add"]))
    settle(page)
    assert "blocks/0" in page.evaluate(_SHOWN, "source")


def test_nothing_overlaps(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    page.click("#unfold")
    crossing = """side => { const items = report.views[side].drawing.items, bad = [];
      const inside = (a, b) => { for (let at = b.parent; at; at = at.parent) if (at === a) return true; return false; };
      for (const a of items) for (const b of items) {
        const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        if (a !== b && !apart && !inside(a, b) && !inside(b, a)) bad.push([a.name, b.name]);
      } return bad; }"""
    for side in ("source", "target"):
        assert page.evaluate(crossing, side) == []


def test_the_keyboard_walks_the_graph(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    page.click("#unfold")
    page.focus("#canvas-source")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    first = page.locator("#panel .title").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator("#panel .title").inner_text() != first
    assert page.locator("#live").inner_text()
    page.keyboard.press("o")
    assert page.evaluate("document.activeElement.id") == "canvas-target"
    before = page.evaluate("report.views.target.scale")
    page.keyboard.press("+")
    assert page.evaluate("report.views.target.scale") > before


def test_wheel_and_hand_move_it(open_page: Open, to_tensorflow: Report) -> None:
    page = open_page(to_tensorflow.to_html())
    canvas = page.locator("#canvas-source")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    scale, x = page.evaluate("[report.views.source.scale, report.views.source.x]")
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 60)
    page.mouse.up()
    assert page.evaluate("report.views.source.scale") > scale
    assert page.evaluate("report.views.source.x") != x


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_light_and_dark_wide_and_narrow(open_page: Open, to_tensorflow: Report, scheme: str, width: int) -> None:
    page = open_page(to_tensorflow.to_html(), scheme=scheme, width=width)
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(map(int, re.findall(r"\d+", ground)[:3])) > 380
    assert bright == (scheme == "light")
    for side in ("source", "target"):
        assert page.evaluate(_INK, side) > 20
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != scheme


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(open_page: Open, departing: dict[str, Any], scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = open_page(render_page(departing), scheme=scheme)
    search(page, "Gemm")
    answer = axe.Axe().run(page).response
    assert len(answer["passes"]) > 20
    found = answer["violations"]
    serious = [(one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_five_thousand_nodes_are_drawn_as_they_unfold(open_page: Open) -> None:
    """Folded, a large network is a few boxes, so that opening the page draws little; all of it is there to unfold."""
    page = open_page(networks.large_report().to_html())
    assert page.evaluate("report.views.target.drawing.items.length") < 500
    search(page, "/blocks/777/second/Sigmoid")
    assert "/blocks/777/second/Sigmoid" in page.locator("#panel").inner_text()
    page.click("#unfold")
    settle(page)
    assert page.evaluate("report.views.target.drawing.items.length") > 5000


def test_names_cannot_break_out(open_page: Open, to_tensorflow: Report) -> None:
    evil = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\u2028&amp;"
    data = json.loads(to_tensorflow.to_json())
    data["graphs"]["source"]["nodes"][0]["name"] = evil
    data["losses"] = [{"where": evil, "what": evil, "because": evil, "fidelity": "lossy"}]
    data["source"] = evil
    page = open_page(render_page(data))
    assert "Trueport report" in page.title()
    assert page.locator("img").count() == 0
    assert evil.replace("\u2028", " ") in page.locator("#losses").inner_text().replace("\u2028", " ")


def test_losses_are_listed_and_lead_to_their_nodes(open_page: Open, to_tensorflow: Report) -> None:
    data = json.loads(to_tensorflow.to_json())
    reason = {"label": "lossy", "because": "only an example", "remedy": "leave it", "effect": "lossy"}
    data["findings"][0].update(node="/blocks/0/first/Conv", fidelity="lossy", reasons=[reason])
    page = open_page(render_page(data))
    row = page.locator("#losses tbody tr").first
    assert all(words in row.inner_text() for words in ("lossy", "only an example", "leave it"))
    row.locator("button").click()
    assert "/blocks/0/first/Conv" in page.locator("#panel").inner_text()


def test_a_report_of_the_first_form_is_rendered(open_page: Open, first_form: str) -> None:
    page = open_page(rendered(first_form, ".html"))
    assert page.locator("#verdict-box strong").inner_text() == "Faithful"
    assert "it is only an example" in page.locator("#losses").inner_text()
    assert "not part of this report" in page.locator("#graphs").inner_text()


def test_a_keras_models_page(open_page: Open, to_onnx: Report) -> None:
    page = open_page(to_onnx.to_html())
    search(page, "Conv2D")
    assert "Conv2D" in page.locator("#panel .title").inner_text()
    assert "Conv" in page.locator("#panel .linked").inner_text()


def test_it_prints(open_page: Open, to_tensorflow: Report, tmp_path: Path) -> None:
    page = open_page(to_tensorflow.to_html(), scheme="dark")
    page.emulate_media(media="print", color_scheme="light")
    printed = page.pdf(format="A4", print_background=True)
    assert printed.startswith(b"%PDF") and len(printed) > 20_000
    assert not page.locator("#search").is_visible()
    assert page.locator("#verdict-box").is_visible() and page.locator("#canvas-source").is_visible()
