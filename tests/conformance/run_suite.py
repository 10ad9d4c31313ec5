"""Run the ONNX backend suite (or the cases whose names match a pattern) and print what does not pass.

python tests/conformance/run_suite.py '^test_conv' [-v] [--errors]
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import sys
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(__file__))

import numpy as np
import suite
from known import RANDOM

from trueport.backend import prepare


def run(name: str, case: object) -> None:
    model = suite.model_of(case)
    rep = prepare(model)
    for inputs, expected in suite.data_of(case, model):
        if name in RANDOM:
            RANDOM[name](inputs, np.stack([rep.run(inputs)[0] for _ in range(200)]))
        else:
            suite.check(case, model, inputs, expected, list(rep.run(inputs)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--op", help="only cases whose model uses this operator at its top level")
    parser.add_argument("--failing", default="$^", metavar="PATTERN", help="cases that are known to fail, and must")
    parser.add_argument("-v", action="store_true", help="full tracebacks")
    arguments = parser.parse_args()
    outcome: collections.Counter[str] = collections.Counter()
    for name, case in suite.cases().items():
        if not re.search(arguments.pattern, name):
            continue
        if arguments.op and arguments.op not in suite.operators(suite.model_of(case)):
            continue
        known = bool(re.search(arguments.failing, name))
        try:
            run(name, case)
            outcome["failed" if known else "passed"] += 1
            if known:
                print("FAIL", name, "is said to fail, and passes", flush=True)
        except Exception as error:
            outcome["known" if known else "failed"] += 1
            if known:
                continue
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print("FAIL", name, text if arguments.v else text[:220], flush=True)
            if arguments.v:
                traceback.print_exc()
    print(f"{outcome['passed']} passed, {outcome['failed']} failed, {outcome['known']} known to fail")
    return int(outcome["failed"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
