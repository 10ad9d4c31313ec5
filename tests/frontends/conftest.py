"""Before TensorFlow runs: virtual machines may offer AMX and then refuse it, which ends the process."""

from __future__ import annotations

import os

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
