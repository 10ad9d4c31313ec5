"""Einstein sums: a matrix product between transposes where they are one, ONNX's Einsum where they are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation
from trueport.formulas.linear.matrices import Size, multiplied, regrouped, sizes_of, transposed
from trueport.formulas.writer import Writer

__all__ = ["EINSUM", "einsum"]

EINSUM = accumulation(against=AGAINST_TERMS)
"""Its bound."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class _Term:
    """An operand and a letter for each of its axes."""

    value: ir.Value
    letters: str


def einsum(t: Writer, inputs: Sequence[ir.Value], equation: str) -> ir.Value:
    """The sum of products that the equation says; from the left where there are more than two operands."""
    terms, output = _spelled(t, inputs, equation.replace(" ", ""))
    repeats = any(len(set(letters)) < len(letters) for letters in (*(term.letters for term in terms), output))
    if repeats or _broadcasts(t, terms):
        return _plain(t, terms, output)
    while len(terms) > 1:
        left, right, *others = terms
        later = set(output).union(*(term.letters for term in others))
        both = dict.fromkeys(left.letters + right.letters)
        letters = "".join(letter for letter in both if letter in later) if others else output
        terms = [_Term(_pair(t, left, right, letters), letters), *others]
    return _ordered(t, _reduced(t, terms[0], set(output)), output).value


def _pair(t: Writer, left: _Term, right: _Term, output: str) -> ir.Value:
    left, right = (
        _reduced(t, term, set(output) | set(other.letters)) for term, other in ((left, right), (right, left))
    )
    shared = set(left.letters) & set(right.letters)
    summed = "".join(letter for letter in left.letters if letter in shared - set(output))
    if not summed:
        return t.op.Mul(_spread(t, left, output), _spread(t, right, output))
    if shared & set(output) and any(set(term.letters) <= shared for term in (left, right)):
        # Products of vectors, one for each element of a batch: summed without turning the batch to the front.
        letters = output + summed
        products = t.op.Mul(_spread(t, left, letters), _spread(t, right, letters))
        return t.op.ReduceSum(products, list(range(len(output), len(letters))), keepdims=0)
    return _product(t, left, right, output)


def _broadcasts(t: Writer, terms: Sequence[_Term]) -> bool:
    """True if one operand has a single element along an axis where another may have more."""
    sizes: dict[str, set[int | None]] = {}
    for term in terms:
        for letter, size in zip(term.letters, t.dims(term.value), strict=True):
            sizes.setdefault(letter, set()).add(size)
    return any(1 in found and len(found) > 1 for found in sizes.values())


def _spelled(t: Writer, inputs: Sequence[ir.Value], equation: str) -> tuple[list[_Term], str]:
    """The terms and the output with letters in place of dots."""
    left, arrow, output = equation.partition("->")
    subscripts = left.split(",")
    if not arrow:
        output = _implied(left)
    counts = [t.rank(v) - len(s.replace("...", "")) for v, s in zip(inputs, subscripts, strict=True) if "..." in s]
    free = [letter for letter in _LETTERS if letter not in equation]
    dots = "".join(free[: max(counts, default=0)])
    terms = []
    for value, letters in zip(inputs, subscripts, strict=True):
        count = t.rank(value) - len(letters.replace("...", ""))
        terms.append(_Term(value, letters.replace("...", dots[len(dots) - count :])))
    return terms, output.replace("...", dots)


def _implied(left: str) -> str:
    """The output where none is written: all letters that stand once, in their order, behind what dots stand for."""
    letters = left.replace("...", "").replace(",", "")
    return "..." * ("..." in left) + "".join(sorted(letter for letter in letters if letters.count(letter) == 1))


def _plain(t: Writer, terms: Sequence[_Term], output: str) -> ir.Value:
    """A diagonal is taken: ONNX has no other operator for it. It gives none back."""
    if len(set(output)) < len(output):
        raise t.fail(
            "writes to a diagonal, which ONNX's Einsum does not",
            "use tf.linalg.diag",
        )
    return t.op.Einsum(
        *(term.value for term in terms), equation=f"{','.join(term.letters for term in terms)}->{output}"
    )


def _reduced(t: Writer, term: _Term, kept: set[str]) -> _Term:
    """Summed over the axes that nothing else has."""
    axes = [axis for axis, letter in enumerate(term.letters) if letter not in kept]
    if not axes:
        return term
    letters = "".join(letter for letter in term.letters if letter in kept)
    return _Term(t.op.ReduceSum(term.value, axes, keepdims=0), letters)


def _ordered(t: Writer, term: _Term, letters: str) -> _Term:
    return _Term(transposed(t, term.value, [term.letters.index(letter) for letter in letters]), letters)


def _spread(t: Writer, term: _Term, output: str) -> ir.Value:
    """Axes as in the output, with ones where the term has none, so that it broadcasts."""
    ordered = _ordered(t, term, "".join(letter for letter in output if letter in term.letters))
    missing = [axis for axis, letter in enumerate(output.lstrip(_absent(term, output))) if letter not in term.letters]
    return t.op.Unsqueeze(ordered.value, missing) if missing else ordered.value


def _absent(term: _Term, output: str) -> str:
    return "".join(letter for letter in output if letter not in term.letters)


def _product(t: Writer, left: _Term, right: _Term, output: str) -> ir.Value:
    """[batch, rows, summed] times [batch, summed, columns], axes of one kind merged."""
    if _swaps(left, right, output):
        left, right = right, left
    shared = set(left.letters) & set(right.letters)
    batch = "".join(letter for letter in output if letter in shared)
    summed = "".join(letter for letter in right.letters if letter in shared and letter not in batch)
    rows = "".join(letter for letter in output if letter in left.letters and letter not in shared)
    columns = "".join(letter for letter in output if letter in right.letters and letter not in shared)
    sizes = {
        letter: size
        for term in (left, right)
        for letter, size in zip(term.letters, sizes_of(t, term.value), strict=True)
        if letter not in batch
    }
    # Without a batch every axis of the rows may stand for one, and vectors may be what they are: MatMul takes both.
    over = [rows] if batch else list(rows)
    across = [columns] if batch or columns else []
    a = _merged(t, _ordered(t, left, batch + rows + summed), batch, [*over, summed], sizes)
    b = _merged(t, _ordered(t, right, batch + summed + columns), batch, [summed, *across], sizes)
    made = multiplied(t, a, b)
    if not all(len(group) == 1 for group in (*over, *across)):
        apart: list[list[Size]] = [[sizes[letter]] for letter in rows + columns]
        made = regrouped(t, made, [*_alone(t, made, batch), *apart])
    return _ordered(t, _Term(made, batch + rows + columns), output).value


def _merged(t: Writer, term: _Term, batch: str, groups: Sequence[str], sizes: dict[str, Size]) -> ir.Value:
    if all(len(group) == 1 for group in groups):
        return term.value
    joined = [[sizes[letter] for letter in group] for group in groups]
    return regrouped(t, term.value, [*_alone(t, term.value, batch), *joined])


def _alone(t: Writer, value: ir.Value, batch: str) -> list[list[Size]]:
    return [[size] for size in sizes_of(t, value)[: len(batch)]]


def _swaps(left: _Term, right: _Term, output: str) -> bool:
    """Whether the output wants the right operand's axes first."""
    shared = set(left.letters) & set(right.letters)
    own = [letter in left.letters for letter in output if letter not in shared]
    return own == sorted(own) and len(set(own)) == 2
