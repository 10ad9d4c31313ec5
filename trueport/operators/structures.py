"""Control flow, sequences and optionals, text, random numbers."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import ulps
from trueport.operators.order import Elementwise
from trueport.operators.record import Kind, Operator, Randomness, Role, Sizing, Trait, Widening

__all__ = ["OPERATORS"]

_control = partial(Operator, kind=Kind.CONTROL, error=None)
_container = partial(Operator, kind=Kind.CONTAINER, error=None)
_text = partial(Operator, kind=Kind.TEXT, error=None)
_random = partial(Operator, kind=Kind.RANDOM, random=Randomness.ALWAYS)

OPERATORS: tuple[Operator, ...] = (
    _control("If", roles=(Role.BRANCH,)),
    _control("Loop", roles=(Role.EXTENT, Role.GOES_ON, Role.DATA), family="while", sizing=Sizing.STEPS),
    _control("Scan", family="while", sizing=Sizing.STEPS),
    _container("ConcatFromSequence", widening=Widening.MOVES),
    _container("Optional"),
    _container("OptionalGetElement"),
    _container("OptionalHasElement"),
    _container("SequenceAt", sizing=Sizing.VALUES),
    _container("SequenceConstruct"),
    _container("SequenceEmpty"),
    _container("SequenceErase"),
    _container("SequenceInsert"),
    _container("SequenceLength"),
    _container("SequenceMap"),
    _container("SplitToSequence", roles=(Role.DATA, Role.PARAMETER)),
    _text("RegexFullMatch"),
    _text("StringConcat"),
    _text("StringNormalizer"),
    _text("StringSplit", sizing=Sizing.VALUES),
    _text("TfIdfVectorizer", error=ulps(0)),
    _random("Bernoulli"),
    _random("Multinomial"),
    _random("RandomNormal", type_attribute="dtype"),
    _random("RandomNormalLike", type_attribute="dtype"),
    _random("RandomUniform", type_attribute="dtype"),
    _random("RandomUniformLike", type_attribute="dtype"),
    Operator(
        "Dropout",
        Kind.ELEMENTWISE,
        order=Elementwise(),
        roles=(Role.DATA, Role.RATIO, Role.TRAINING),
        family="identity",
        random=Randomness.IN_TRAINING,
        traits=Trait.SAME_NUMBERS,
    ),
)
