"""``verify`` and ``locate`` of two models that any tool made: one screen, and reports that open at the culprit."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest

from tests.command_line import Cli
from tests.report import networks
from trueport.fidelity import Verdict
from trueport.report.data import Report
from trueport.report.html.render import page as render_page
from trueport.report.schema import load_schema
from trueport.report.verification import Subject, render, render_located
from trueport.report.walked import judged_values
from trueport.verifying.judge.output import Judgement
from trueport.verifying.locate.result import Cause, Culprit, Located, Step
from trueport.verifying.verification import Verification

NODE = "/blocks/1/first/Sigmoid"
RENAMED = "n_blocks_1_first_Sigmoid"


def as_another_tool_would(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with an operator replaced by a near one, and no name kept but those of inputs and outputs."""
    wrong = copy.deepcopy(model)
    names: dict[str, str] = {}
    for node in wrong.graph.node:
        node.op_type = "HardSigmoid" if node.name == NODE else node.op_type
        node.name = f"n_{node.name.strip('/').replace('/', '_')}"
        names |= {name: f"t{len(names) + at}" for at, name in enumerate(node.output) if name != "scores"}
    for node in wrong.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    return wrong


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    model = networks.residual(2)
    onnx.save(model, folder / "good.onnx")
    onnx.save(as_another_tool_would(model), folder / "bad.onnx")
    return folder / "good.onnx", folder / "bad.onnx"


@pytest.fixture(scope="module")
def report(pair: tuple[Path, Path]) -> Iterator[dict[str, Any]]:
    """The JSON that ``locate`` writes, with all intermediate values."""
    with pytest.MonkeyPatch.context() as patch:
        place = pair[0].with_name("result.json")
        words = ["trueport", "verify", *map(str, pair), "--samples", "2", "--report", str(place), "--profile", "-q"]
        patch.setattr("sys.argv", words)
        with pytest.raises(SystemExit):
            trueport_main()
        yield json.loads(place.read_text())


def trueport_main() -> None:
    from trueport.cli import main

    main()


def located(steps: int = 40, at: int = 17, *, listed: bool = True, name: str = "") -> Located:
    """What locating finds in a chain of nodes, of which one is wrong."""
    names = [name or f"value{i}" for i in range(steps)] if not name else [f"{name}{i}" for i in range(steps)]
    made = [
        Step(names[i], f"node{i}", "Add", 9e30 if i >= at else 0.5, 0.1, 0.0 if i == at + 1 else 1e-7)
        for i in range(steps)
        if listed or i != at
    ]
    own = Judgement(names[at], Verdict.DEPARTS, 9e30, "9e+30 × what rounding explains")
    causes = (Cause("attribute", "another axis " * 60, "evidence " * 90),) * 5
    culprit = Culprit(
        names[at], f"node{at}", "Add", ("layer",), own, 0.5, own, causes, target_node="t", target_value="v"
    )
    return Located(tuple(made), culprit, 30, 40, feeds={"x": np.zeros((3, 5), np.float32)}, departs=True)


@pytest.mark.parametrize("listed", [True, False], ids=["matched", "matched late"])
def test_the_table_shows_the_values_around_the_culprit(listed: bool) -> None:
    found = located(listed=listed)
    lines = render_located(found).splitlines()
    (marked,) = (at for at, line in enumerate(lines) if line.startswith("  → "))
    assert lines[marked].split()[1:3] == ["value17", "node17"]
    shown = [line.split()[0] for line in lines[marked - 3 : marked] + lines[marked + 1 : marked + 4]]
    assert shown == ["value14", "value15", "value16", "value18", "value19", "value20"]
    assert [step.value for step in judged_values(found)[0]] == [f"value{i}" for i in range(40)]
    assert "value39" not in "\n".join(lines)


def test_a_ratio_is_capped_and_an_exact_source_is_said_in_words() -> None:
    words = render_located(located())
    assert words.startswith("not faithful: error is more than a million × normal rounding (limit 8 ×)\n")
    assert "e+30" not in words and "> 1e6" in words and "exact" in words


@pytest.mark.parametrize("name", ["", "a/very\n/long\x1b[31m/name/" * 12], ids=["short", "long"])
def test_a_fault_fits_on_one_screen(name: str) -> None:
    lines = render_located(located(name=name), subject=Subject("good.onnx", "bad.onnx")).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100 and not any("\x1b" in line for line in lines)


def test_many_outputs_fit_on_one_screen() -> None:
    wrong = [Judgement(f"out{i}", Verdict.DEPARTS, float(i), f"{i} × what rounding explains") for i in range(9, 60)]
    right = [Judgement(f"right{i}", Verdict.FAITHFUL, 0.5, "0.5 × what rounding explains") for i in range(50)]
    found = Verification(
        "onnxruntime", "tensorflow", "float64", 8.0, 3, 2, (*right, *wrong), hints=tuple(f"hint {i}" for i in range(20))
    )
    lines = render(found, subject=Subject("good.onnx", "bad.onnx", ("--seed", "3"))).splitlines()
    assert lines[0] == "not faithful: error is 59 × normal rounding (limit 8 ×) in output 'out59'"
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    assert "    … and 93 more: 50 faithful, 43 not faithful" in lines
    assert "  tried       3 inputs; the source rejects 2 more" in lines
    assert lines[-1].strip() == "trueport verify good.onnx bad.onnx --seed 3 --report page.html"
    assert "trueport locate good.onnx bad.onnx --seed 3" in "\n".join(lines)


def test_the_report_of_two_models_is_what_the_schema_says(report: dict[str, Any]) -> None:
    jsonschema.validate(report, load_schema("report-2"))
    assert report["task"] == "verify" and report["fidelity"] is None and report["verdict"] == "departs"
    assert "trueport verify" in report["setting"]["command"]
    profile = report["profile"]
    assert (profile["node"], profile["op"], profile["target_node"]) == (NODE, "Sigmoid", RENAMED)
    assert profile["culprit"] in [figure["value"] for figure in profile["figures"]]
    nodes = [[node["name"] for node in report["graphs"][side]["nodes"]] for side in ("source", "target")]
    links = {(nodes[0][a], nodes[1][b]) for a, b in report["graphs"]["links"]}
    assert (NODE, RENAMED) in links and ("/blocks/0/first/Conv", "n_blocks_0_first_Conv") in links
    assert len(links) == len(nodes[0])


def test_it_is_shown_again_and_as_markdown(report: dict[str, Any]) -> None:
    again = Report.from_json(json.dumps(report))
    assert again.to_plain() == report
    assert str(again).splitlines()[0].startswith(f"{report['source']} and {report['target']}: not faithful: error is ")
    assert f"first node that differs: Sigmoid '{NODE}', in the target '{RENAMED}'" in str(again)
    words = again.to_markdown()
    assert "**not faithful: error is " in words and "HardSigmoid" in words
    assert "by declaration" not in words + str(again) and "is kept" not in words


def test_locate_writes_the_page(cli: Cli, pair: tuple[Path, Path], tmp_path: Path) -> None:
    done = cli("locate", *pair, "--samples", "1", "--report", tmp_path / "page.html")
    assert done.code == 1, done.err
    assert done.out.startswith("not faithful: error is ") and "--report page.html" not in done.out
    data = json.loads((tmp_path / "page.html").read_text().partition('id="data">')[2].partition("</script>")[0])
    assert data["task"] == "locate" and data["profile"]["node"] == NODE
    assert len(data["profile"]["figures"]) > 8, "values after the culprit as well"


@pytest.mark.parametrize("command", ["verify", "locate"])
def test_a_report_that_cannot_be_written_is_refused_at_once(
    cli: Cli, pair: tuple[Path, Path], tmp_path: Path, command: str
) -> None:
    before = pair[1].read_bytes()
    for place in (tmp_path / "page.pdf", tmp_path / "nowhere" / "page.html"):
        done = cli(command, *pair, "--report", place)
        assert (done.code, done.out) == (2, "") and "→ " in done.err
    assert pair[1].read_bytes() == before and not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["verify", "locate"])
def test_help_speaks_plainly(cli: Cli, command: str) -> None:
    words = " ".join(cli(command, "--help").out.split())
    assert "--report" in words
    for private in ("depart", "truth", "what rounding explains", "inner value", "open dim"):
        assert private not in words


@pytest.fixture
def opened(browser: Any, report: dict[str, Any], tmp_path: Path) -> Iterator[Any]:
    """The page of the pair in a browser; a message on its console fails the test."""
    troubles: list[str] = []
    file = tmp_path / "page.html"
    file.write_text(render_page(report), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    page = context.new_page()
    page.set_default_timeout(networks.PATIENCE)
    page.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
    yield page
    context.close()
    assert troubles == []


def test_the_page_opens_at_the_culprit(opened: Any) -> None:
    banner = opened.locator("#verdict-box").inner_text()
    for words in (
        "Not faithful",
        "normal float32 rounding (limit 8 ×)",
        NODE,
        RENAMED,
        "Cause: it behaves as HardSigmoid",
    ):
        assert words in banner
    assert "declaration" not in opened.locator(".facts").inner_text()
    assert "Losses\n0" not in opened.locator(".facts").inner_text()
    assert opened.evaluate("report.chosen.name") == NODE
    assert opened.evaluate("report.twinsOf(report.chosen).map(twin => twin.name)") == [RENAMED]
    assert NODE in opened.locator("#panel").inner_text() and RENAMED in opened.locator("#panel").inner_text()
    opened.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    in_sight = """([side, name]) => {
      const view = report.views[side], item = view.model.shown(view.model.byName.get(name));
      const x = (item.x + item.width / 2) * view.scale + view.x, y = (item.y + item.height / 2) * view.scale + view.y;
      return x > 0 && x < view.width && y > 0 && y < view.height; }"""
    assert opened.evaluate(in_sight, ["source", NODE]) and opened.evaluate(in_sight, ["target", RENAMED])
    opened.locator("#verdict-box .blame button").click()
    assert opened.evaluate("document.activeElement.id") == "canvas-source"


def test_ratios_are_capped_and_the_limit_is_drawn_where_it_is(
    browser: Any, report: dict[str, Any], opened: Any
) -> None:
    wild = copy.deepcopy(report)
    for figure in wild["profile"]["figures"][-4:]:
        figure.update(ratio=2.5e36, floor=0.0)
    wild["comparison"]["outputs"][0].update(ratio=2.5e36)
    wild["comparison"]["outputs"][0]["metrics"].update(cosine=0.99999968)
    opened.set_content(render_page(wild))
    opened.wait_for_function("document.documentElement.dataset.ready === 'yes'")
    opened.click("[data-plot=ratio]")
    labels = opened.locator("#plot svg text").all_text_contents()
    assert "> 1e6 ×" in labels and not any("e3" in label for label in labels)
    y = opened.evaluate("[1e6, 8, 1].map(value => report.plot.toY(value))")
    assert y[0] < y[1] < y[2]
    drawn = float(opened.locator("#plot path.limit").get_attribute("d").split()[1].split("L")[0])
    assert abs(drawn - y[1]) < 0.1
    words = opened.locator("#outputs-body").inner_text()
    assert "> 1e6" in words and "e36" not in words and "1 − 3.2e-7" in words
