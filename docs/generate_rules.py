"""The page of what a check looks at, printed from its rules."""

from __future__ import annotations

from trueport.checking.rules import all_rules

__all__ = ["rules_page"]

_INTRODUCTION = """\
# What a check looks at

Printed from the code by `make docs`. Findings come from two places: the declaration of each operator
([operators.md](operators.md), [tensorflow-operators.md](tensorflow-operators.md)), and the rules below. Notes change no
exit code; warnings do with `--strict`. [check.md](check.md) says how to read them.

| label of a finding | weight | meaning |
| --- | --- | --- |
| `no-mapping` | error | nothing translates the operator |
| `unaudited` | error | the operator changed in a newer opset than its translation was compared with |
| `dtype` | error | an input has a type that the translation does not carry |
| `refused` | error | the operator is translated, this use of it can't be |
| `approximate`, `lossy` | warning | by declaration: another formula, or something is lost |
| `loss` | warning, or note | something beside the nodes is lost or changed |
| labels of limits | error or warning | see the limits in [operators.md](operators.md#limits) |

## Rules
"""


def rules_page() -> str:
    """Every rule with its weight, its targets, and what it says."""
    rows = [
        f"| `{rule.id}` | {rule.severity.word} | {', '.join(sorted(rule.targets)) or 'all'} | {rule.because} "
        f"| {rule.remedy} |"
        for rule in sorted(all_rules(), key=lambda rule: (-rule.severity, rule.id))
    ]
    head = ["| rule | weight | targets | says | remedy |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([_INTRODUCTION, *head, *rows]) + "\n"
