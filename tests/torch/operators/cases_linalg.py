"""torch.linalg."""

from __future__ import annotations

from typing import Any

import torch

from tests.torch.operators.case import AnyCase, Cannot, Case
from tests.torch.operators.draws import normal, of

__all__ = ["CASES"]


def _square(*shape: int) -> Any:
    """Well conditioned."""
    return normal(*shape) + 3 * torch.eye(shape[-1])


def _definite(*shape: int) -> Any:
    made = normal(*shape)
    return made @ made.mT + torch.eye(shape[-1])


def _symmetric(*shape: int) -> Any:
    made = normal(*shape)
    return made + made.mT


def _lu(x: Any, b: Any) -> Any:
    return torch.linalg.lu_solve(*torch.linalg.lu_factor(x), b)


def _pair(n: int) -> tuple[Any, Any]:
    return _square(n, 4, 4), normal(n, 4, 2)


_NO_SIGN = (
    "vectors that belong to eigenvalues or singular values have no sign of their own: PyTorch's can't be foretold"
)
_NOT_SYMMETRIC = "eigenvalues of matrices that are not symmetric: no translation is written"
_NO_LDL = "LDL factors with pivots of two rows: no translation is written"

CASES: list[AnyCase] = [
    Case("torch.linalg.cholesky", of("n", 4, 4, draw=_definite)),
    Case("torch.linalg.cholesky", of("n", 4, 4, draw=_definite), {"upper": True}, label="upper"),
    Case("torch.linalg.cholesky_ex", of("n", 4, 4, draw=_definite)),
    Case("torch.linalg.cond", of("n", 4, 4, draw=_square)),
    Case(
        "torch.linalg.cond",
        of("n", 4, 4, draw=_square),
        {"p": 1},
        label="1",
        fixed="torch.export fixes the dim: it asks whether there are matrices",
    ),
    Case("torch.linalg.cross", lambda n: (normal(n, 3), normal(n, 3, seed=1))),
    Case("torch.linalg.det", of("n", 4, 4, draw=_square)),
    Case("torch.linalg.diagonal", of("n", 4, 5)),
    Case("torch.linalg.diagonal", of("n", 4, 5), {"offset": -1}, label="offset"),
    Cannot("torch.linalg.eig", of("n", 4, 4, draw=_square), _NOT_SYMMETRIC),
    Cannot("torch.linalg.eigvals", of("n", 4, 4, draw=_square), _NOT_SYMMETRIC),
    Cannot("torch.linalg.eigh", of("n", 4, 4, draw=_symmetric), _NO_SIGN),
    Case("torch.linalg.eigvalsh", of("n", 4, 4, draw=_symmetric)),
    Case("torch.linalg.householder_product", lambda n: (normal(n, 5, 3), normal(n, 3, seed=1))),
    Case("torch.linalg.inv", of("n", 4, 4, draw=_square)),
    Case("torch.linalg.inv_ex", of("n", 4, 4, draw=_square)),
    Cannot("torch.linalg.ldl_factor", of("n", 4, 4, draw=_symmetric), _NO_LDL),
    Cannot("torch.linalg.ldl_factor_ex", of("n", 4, 4, draw=_symmetric), _NO_LDL),
    Cannot(
        "torch.linalg.ldl_solve",
        lambda n: (_definite(n, 4, 4), normal(n, 4, 2)),
        _NO_LDL,
        call=lambda a, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b),
    ),
    Cannot(
        "torch.linalg.lstsq",
        lambda n: (normal(n, 5, 3), normal(n, 5, 2)),
        "the shape of its residuals hangs on the data: torch.export does not take it; use pinv(a) @ b",
        call=lambda a, b: torch.linalg.lstsq(a, b)[0],
    ),
    Case("torch.linalg.lu", of("n", 4, 4, draw=_square)),
    Case("torch.linalg.lu", of("n", 4, 4), label="with pivots"),
    Case("torch.linalg.lu_factor", of("n", 4, 4, draw=_square)),
    Case("torch.linalg.lu_factor_ex", of("n", 4, 4, draw=_square)),
    Case("torch.linalg.lu_solve", _pair, call=_lu),
    Case("torch.linalg.matmul", lambda n: (normal(n, 3, 4), normal(4, 5))),
    Case("torch.linalg.matrix_exp", of("n", 3, 3)),
    Case("torch.linalg.matrix_norm", of("n", 3, 4)),
    *(
        Case(
            "torch.linalg.matrix_norm",
            of("n", 3, 4),
            {"ord": order},
            label=str(order),
            fixed="torch.export fixes the dim: it asks whether there are matrices",
        )
        for order in (1, -1, 2, -2, float("inf"), -float("inf"), "nuc")
    ),
    Case("torch.linalg.matrix_power", of("n", 3, 3, draw=_square), {"n": 5}),
    Case("torch.linalg.matrix_power", of("n", 3, 3, draw=_square), {"n": -2}, label="negative"),
    Case("torch.linalg.matrix_rank", of("n", 4, 4, draw=_square)),
    Case(
        "torch.linalg.multi_dot",
        lambda n: (normal(n, 4), normal(4, 5), normal(5, 2)),
        call=lambda a, b, c: torch.linalg.multi_dot([a, b, c]),
        fixed="the order of the products is chosen by sizes read as numbers",
    ),
    Case("torch.linalg.norm", of("n", 4)),
    *(
        Case("torch.linalg.norm", of("n", 4), {"ord": order, "dim": 1}, label=f"vectors {order}")
        for order in (0, 1, 3, -1, float("inf"), -float("inf"))
    ),
    Case("torch.linalg.pinv", of("n", 4, 3)),
    Case("torch.linalg.qr", of("n", 4, 3)),
    Case("torch.linalg.qr", of("n", 4, 3), {"mode": "r"}, label="r"),
    Case("torch.linalg.slogdet", of("n", 4, 4, draw=_square)),
    Case("torch.linalg.solve", _pair),
    Case(
        "torch.linalg.solve", _pair, label="from the right", call=lambda a, b: torch.linalg.solve(a, b.mT, left=False)
    ),
    Case("torch.linalg.solve_ex", _pair),
    Case(
        "torch.linalg.solve_triangular",
        lambda n: (_square(n, 4, 4).triu(), normal(n, 4, 2)),
        {"upper": True},
    ),
    Case(
        "torch.linalg.solve_triangular",
        lambda n: (_square(n, 4, 4).tril(), normal(n, 4, 2)),
        {"upper": False},
        label="lower",
    ),
    Cannot("torch.linalg.svd", of("n", 4, 3), _NO_SIGN),
    Case("torch.linalg.svdvals", of("n", 4, 3)),
    Case(
        "torch.linalg.tensorinv",
        lambda n: (_square(6, 6).reshape(6, 2, 3),),
        {"ind": 1},
        fixed="one tensor is inverted whole",
    ),
    Case(
        "torch.linalg.tensorsolve",
        lambda n: (_square(6, 6).reshape(2, 3, 6), normal(2, 3)),
        fixed="one system is solved whole",
    ),
    Case("torch.linalg.vander", of("n", 4)),
    Case("torch.linalg.vander", of("n", 4), {"N": 6}, label="N"),
    Case("torch.linalg.vecdot", lambda n: (normal(n, 4), normal(n, 4, seed=1))),
    Case("torch.linalg.vector_norm", of("n", 4)),
    *(
        Case("torch.linalg.vector_norm", of("n", 4), {"ord": order, "dim": -1, "keepdim": True}, label=str(order))
        for order in (0, 1, 0.5, float("inf"), -float("inf"))
    ),
]
