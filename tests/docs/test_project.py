"""What surrounds the code is true: workflows, hooks, and the make targets that pages name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.versions.sets import SETS

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_CALL = re.compile(r"`make ([a-z][a-z -]*)|^ {4}make ([a-z][a-z -]*)", re.MULTILINE)
_VERSION = re.compile(r"Python :: (3\.\d+)$", re.MULTILINE)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def matrix() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["versions"]["strategy"][
        "matrix"
    ]["include"]
    return rows


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_jobs_with_least_rights(path: Path) -> None:
    workflow = read(path)
    # YAML 1.1 reads the key `on` as true.
    assert {"name", True, "permissions", "jobs"} <= set(workflow)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        assert all("secrets." not in str(step) for step in job["steps"])


def test_workflows_run_the_versions_that_the_package_says() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pythons = [row["python"] for row in matrix()]
    least = re.search(r'requires-python = ">=(3\.\d+)"', text)
    assert least and pythons[0] == least[1]
    assert set(pythons) == {chosen.python for chosen in SETS}
    assert set(_VERSION.findall(text)) in (set(), set(pythons))


@pytest.mark.parametrize("row", matrix(), ids=lambda row: row["python"])
def test_a_row_of_the_matrix_is_one_set(row: dict[str, str]) -> None:
    assert [chosen.python for chosen in SETS if re.search(row["set"], chosen.name)] == [row["python"]]


def test_hooks_are_of_the_project_environment() -> None:
    hooks = [hook for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert {hook["id"] for hook in hooks} == {"ruff-check", "ruff-format", "mypy"}
    assert all(hook["entry"].startswith(".venv/bin/") and hook["language"] == "system" for hook in hooks)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(page: str) -> None:
    calls = [a or b for a, b in _CALL.findall((ROOT / page).read_text(encoding="utf-8"))]
    assert calls
    named = {word for call in calls for word in call.split()}
    assert not named - targets()


def test_workflows_call_targets_that_exist() -> None:
    runs = [step.get("run", "") for path in WORKFLOWS for job in read(path)["jobs"].values() for step in job["steps"]]
    named = {word for run in runs if run.startswith("make ") for word in run.split()[1:]}
    assert named and not named - targets()


def test_every_target_is_explained() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    explained = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    assert targets() - explained == {"quick-tests"}
