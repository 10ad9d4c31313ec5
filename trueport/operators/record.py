"""What is known of an operator, whoever computes it: one frozen record, and the words it is written in."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from trueport.fidelity import ErrorBound, ulps
from trueport.operators.order import AxisOrder

__all__ = [
    "Confusable",
    "Decision",
    "Folding",
    "IntegerSum",
    "Kind",
    "Operator",
    "Randomness",
    "Role",
    "Sizing",
    "Trait",
    "Widening",
]


class Kind(enum.Enum):
    """What an operator does."""

    ELEMENTWISE = "elementwise"
    COMPARISON = "comparison"
    """element-wise, with booleans as the result"""
    MOVEMENT = "data movement"
    SHAPE = "shape"
    """reads sizes, not elements"""
    SELECTION = "selection"
    """chooses elements by their values"""
    GENERATION = "generation"
    RANDOM = "random numbers"
    REDUCTION = "reduction"
    CUMULATIVE = "cumulative"
    PRODUCT = "sums of products"
    POOLING = "pooling"
    NORMALIZATION = "normalization"
    RECURRENCE = "recurrence"
    ATTENTION = "attention"
    INTERPOLATION = "interpolation"
    SIGNAL = "signal"
    QUANTIZATION = "quantization"
    LOSS = "loss"
    CONTROL = "control flow"
    CONTAINER = "sequences and optionals"
    TEXT = "text"
    CLASSIC = "classic machine learning"
    TRAINING = "training"
    CUSTOM = "declared by a user"
    UNKNOWN = "unknown"


class Role(enum.Enum):
    """What an input is for. All but the first group are parameters, which rounding does not blur."""

    DATA = "data"
    STATE = "running statistics"
    """a weight that is not trained"""
    INDEX = "positions along an axis"
    INDEX_TUPLE = "positions along several axes, in the last axis"
    CLASS = "classes"
    LENGTHS = "lengths of sequences"
    PADDED_LENGTHS = "lengths of padded keys and values"
    DIVISOR = "divisor"
    BRANCH = "which branch is taken"

    PARAMETER = "parameter"
    SHAPE = "shape"
    EXTENT = "numbers of elements"
    COUNT = "how many elements are kept, or how often they are repeated"
    SIZES = "new sizes"
    GRID_SIZES = "sizes of a grid"
    SCALES = "scales"
    START = "start"
    END = "end"
    STEP = "step"
    AXES = "axes"
    RATIO = "probability"
    TRAINING = "whether it is training"
    GOES_ON = "whether a loop goes on"

    @property
    def is_parameter(self) -> bool:
        """True if the input shapes the computation (axes, sizes, scales) instead of being computed on."""
        return self not in _DATA_ROLES


_DATA_ROLES = frozenset(
    {Role.DATA, Role.STATE, Role.INDEX, Role.INDEX_TUPLE, Role.CLASS}
    | {Role.LENGTHS, Role.PADDED_LENGTHS, Role.DIVISOR, Role.BRANCH}
)


class Folding(enum.Enum):
    """Of which constants a result may be computed before the model runs, without changing a number."""

    NEVER = "never"
    INTEGERS = "integers, booleans, strings"
    ALWAYS = "floats as well: moved, or rounded correctly by IEEE 754, hence the same everywhere"


class Widening(enum.Enum):
    """Whether a wider type gives the same result, brought back by a cast that wraps; the value is the reason."""

    NOT_INTEGERS = "halves only: computed in float32 and rounded once"
    MOVES = "moves elements, whatever they are"
    ORDERED = "compares and chooses, and wider types have the same order"
    BY_ZERO = "compares with 0 or with bounds, and wider types have the same order"
    WRAPS = "sums and products wrap: bringing the wider result back gives the narrow one"
    DIVIDES = "the quotient or remainder fits into the narrow type, or wraps as the only one that does not (min / -1)"
    NEAREST = "moves elements when its mode is nearest"
    BITS = "never: it is about bits"
    TYPE = "never: the type is what it is about"
    STEPS = "never: the quotient would be rounded differently"

    @property
    def is_exact_for_halves(self) -> bool:
        """True if float32 gives what a half would, rounded once."""
        return self not in (Widening.BITS, Widening.TYPE, Widening.STEPS)


class Randomness(enum.Enum):
    """Whether values come from a runtime's generator, so that no other runtime has the same."""

    NEVER = "never"
    ALWAYS = "always"
    IN_TRAINING = "in training"


class Sizing(enum.Enum):
    """What the number of elements in a result depends on."""

    SHAPES = "shapes and constants"
    PARAMETERS = "the other inputs say how much is kept"
    STEPS = "how many steps are made"
    VALUES = "values of its inputs"


class Confusable(enum.Enum):
    """Operators that take the same inputs, so that one may stand wrongly for another."""

    UNARY = "functions of one number"
    BINARY = "functions of two numbers"
    REDUCTION = "reductions"
    POOL = "pools"
    GLOBAL_POOL = "global pools"
    ALONG = "functions of the numbers along an axis"


class Trait(enum.Flag):
    """Facts that hold or do not; without one nothing is promised."""

    NONE = 0
    MOVES_FIRST = enum.auto()
    """the result holds elements of the first input and nothing else"""
    SAME_NUMBERS = enum.auto()
    """all elements of the first input, each once and as it was, in another shape, order or type"""
    KEEPS_NAN = enum.auto()
    """makes a NaN only of a NaN in one of its inputs"""
    KEEPS_INDEX = enum.auto()
    """behind it an integer is still the index that it was"""
    KEEPS_SIZE = enum.auto()
    """what it makes of sizes is of the magnitude of a size"""
    MAKES_INDEX = enum.auto()
    """its integers are sizes or indices"""
    KEEPS_SMALL = enum.auto()
    """the result is as accurate, relative to itself, as the values it is made from"""
    MAGNIFIES_SMALL = enum.auto()
    """small values decide the result: their relative error is seen"""
    ORDERS = enum.auto()
    """orders elements, so that a NaN needs a place in the order"""
    ARITHMETIC = enum.auto()
    """arithmetic on two operands that broadcast"""
    WEIGHTED = enum.auto()
    """sums products of data and a weight, in floats: what quantization replaces by integers"""
    ANY_CHANNEL_AXIS = enum.auto()
    """reduces or broadcasts along the axis of channels wherever it is: no kernel wants it last"""


@dataclass(frozen=True)
class Decision:
    """Values of an input at which an operator decides: ties, bounds, knees."""

    points: tuple[float, ...] = ()
    attribute: tuple[str, float] | None = None
    """an attribute and its default: plus and minus this value"""
    operands: bool = False
    """the constants among its other operands"""
    steps: bool = False
    """halfway between the steps of its scale"""
    inputs: tuple[int, ...] = (0,)
    """the inputs that it decides about"""


@dataclass(frozen=True)
class IntegerSum:
    """A sum of products of 8-bit integers: positions of inputs."""

    weights: tuple[tuple[int, int], ...]
    """each weight, and its zero point"""
    data: int | None = None
    """what they are multiplied by; None: the operator itself quantizes it, to uint8"""
    data_zero_point: int | None = None


_ONE_ULP = ulps(1)


@dataclass(frozen=True)
class Operator:
    """The facts of one operator at its newest version; the defaults promise nothing."""

    name: str
    kind: Kind
    error: ErrorBound | None = _ONE_ULP
    """how far a float runtime may be from the exactly rounded result, and relative to what; None: the same bits"""
    order: AxisOrder | None = None
    """how it carries a permutation of axes; None: it needs the model's own order"""
    folds: Folding = Folding.NEVER
    widening: Widening = Widening.NOT_INTEGERS
    roles: tuple[Role, ...] = ()
    """of the inputs by position, the last one for all that follow; empty: all are data"""
    family: str = ""
    """the word that operators of other frameworks share which may be the same node; empty: its own name"""
    confusable: Confusable | None = None
    random: Randomness = Randomness.NEVER
    sizing: Sizing = Sizing.SHAPES
    traits: Trait = Trait.NONE
    decides: Decision | None = None
    integer_sum: IntegerSum | None = None
    pads_with: float | None = None
    """the number that its own padding stands for; None: it has none, or not one number"""
    type_attribute: str = ""
    """the attribute that gives the element type of the result"""
    domain: str = ""

    @property
    def is_known(self) -> bool:
        """True unless nothing is known of it."""
        return self.kind is not Kind.UNKNOWN

    def role(self, index: int) -> Role:
        """Return what the input at a position is for."""
        return self.roles[min(index, len(self.roles) - 1)] if self.roles else Role.DATA

    def has(self, trait: Trait) -> bool:
        """True if all of these facts hold."""
        return trait in self.traits
