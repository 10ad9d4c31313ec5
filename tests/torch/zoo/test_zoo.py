"""Every network of the zoo converts to both targets and agrees with PyTorch, or is refused as it says."""

from __future__ import annotations

import pytest

from tests.torch.zoo.member import TARGETS, Member, all_members
from tests.torch.zoo.run import Outcome, outcomes
from tests.torch.zoo.table import page_names

MEMBERS = [member for members in all_members().values() for member in members]
ARCHITECTURES = [m for name, members in all_members().items() if name.startswith("transformers") for m in members]


def _expect(member: Member, target: str, found: Outcome) -> None:
    assert found.kind == ("refused" if target in member.cannot else "agrees"), found.why


@pytest.mark.parametrize("member", [member for member in MEMBERS if member.quick], ids=lambda member: member.name)
def test_a_sample_agrees_as_onnx(member: Member) -> None:
    _expect(member, "onnx", outcomes(member, ["onnx"])["onnx"])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_a_network_agrees(member: Member, target: str, request: pytest.FixtureRequest) -> None:
    if target in member.departs:
        request.applymarker(pytest.mark.xfail(reason=member.departs[target], strict=True))
    _expect(member, target, outcomes(member, [target])[target])


def test_there_are_enough_of_each() -> None:
    assert len(ARCHITECTURES) >= 25
    assert len(MEMBERS) - len(ARCHITECTURES) >= 120


def test_no_two_are_called_the_same() -> None:
    names = [member.name for member in MEMBERS]
    assert len(names) == len(set(names))


def test_the_page_has_every_network() -> None:
    assert page_names() == [member.name for member in MEMBERS]
