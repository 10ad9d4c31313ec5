"""Operators that reduce: along axes, in windows, for statistics, to a loss."""

from __future__ import annotations

import math
from functools import partial

from trueport.fidelity import AGAINST_DATA, AGAINST_STEPS, AGAINST_TERMS, accumulation
from trueport.operators.order import Along, AlongInput, Reduced
from trueport.operators.record import Confusable, Folding, Kind, Operator, Role, Trait, Widening

__all__ = ["OPERATORS"]

_reduction = partial(
    Operator,
    kind=Kind.REDUCTION,
    error=accumulation(),
    order=Reduced(),
    roles=(Role.DATA, Role.AXES),
    confusable=Confusable.REDUCTION,
)
_cumulative = partial(
    Operator, kind=Kind.CUMULATIVE, order=AlongInput(1), widening=Widening.WRAPS, roles=(Role.DATA, Role.PARAMETER)
)
_pool = partial(Operator, kind=Kind.POOLING)
_normalization = partial(Operator, kind=Kind.NORMALIZATION, error=accumulation(8, against=AGAINST_DATA))
_loss = partial(Operator, kind=Kind.LOSS)

OPERATORS: tuple[Operator, ...] = (
    _reduction("ReduceL1", widening=Widening.WRAPS),
    _reduction("ReduceL2"),
    _reduction("ReduceLogSum", confusable=None, traits=Trait.MAGNIFIES_SMALL),
    _reduction("ReduceLogSumExp"),
    _reduction("ReduceMax", error=None, folds=Folding.INTEGERS, widening=Widening.ORDERED, traits=Trait.KEEPS_SMALL),
    _reduction("ReduceMean", error=accumulation(against=AGAINST_TERMS), family="averagepool", traits=Trait.KEEPS_SMALL),
    _reduction("ReduceMin", error=None, folds=Folding.INTEGERS, widening=Widening.ORDERED, traits=Trait.KEEPS_SMALL),
    _reduction("ReduceProd", folds=Folding.INTEGERS, widening=Widening.WRAPS, traits=Trait.KEEPS_SMALL),
    _reduction(
        "ReduceSum",
        error=accumulation(against=AGAINST_TERMS),
        folds=Folding.INTEGERS,
        widening=Widening.WRAPS,
        traits=Trait.KEEPS_SMALL,
    ),
    _reduction("ReduceSumSquare", widening=Widening.WRAPS),
    _cumulative("CumProd", error=accumulation()),
    _cumulative("CumSum", error=accumulation(against=AGAINST_TERMS), folds=Folding.INTEGERS, family="reducesum"),
    _pool("AveragePool", error=accumulation(against=AGAINST_TERMS), confusable=Confusable.POOL, pads_with=0.0),
    _pool(
        "GlobalAveragePool",
        error=accumulation(against=AGAINST_TERMS),
        family="averagepool",
        confusable=Confusable.GLOBAL_POOL,
        traits=Trait.ANY_CHANNEL_AXIS,
    ),
    _pool("GlobalLpPool", error=accumulation(4), traits=Trait.ANY_CHANNEL_AXIS),
    _pool(
        "GlobalMaxPool",
        error=None,
        family="maxpool",
        confusable=Confusable.GLOBAL_POOL,
        traits=Trait.ANY_CHANNEL_AXIS,
    ),
    _pool("LpPool", error=accumulation(4)),
    _pool("MaxPool", error=None, widening=Widening.ORDERED, confusable=Confusable.POOL, pads_with=-math.inf),
    _pool("MaxRoiPool", error=None),
    _pool("MaxUnpool", error=None, roles=(Role.DATA, Role.DATA, Role.PARAMETER)),
    _normalization(
        "BatchNormalization",
        roles=(Role.DATA, Role.DATA, Role.DATA, Role.STATE, Role.STATE),
        family="batchnorm",
        traits=Trait.ANY_CHANNEL_AXIS,
    ),
    _normalization("GroupNormalization", traits=Trait.ANY_CHANNEL_AXIS),
    _normalization("InstanceNormalization", traits=Trait.ANY_CHANNEL_AXIS),
    _normalization("LRN", error=accumulation(8)),
    _normalization("LayerNormalization"),
    _normalization("LpNormalization", error=accumulation(4), order=Along(-1)),
    _normalization("MeanVarianceNormalization", error=accumulation(8, against=AGAINST_STEPS)),
    _normalization("RMSNormalization", error=accumulation(8)),
    _loss("NegativeLogLikelihoodLoss", error=accumulation()),
    _loss("SoftmaxCrossEntropyLoss", error=accumulation(4)),
)
