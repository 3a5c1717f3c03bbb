# SPDX-License-Identifier: GPL-2.0
"""The analytic model held against the simulated drive: what `freeblock-bench validate-predict`
measures, predicts and compares."""

import freeblock.prediction  # noqa: F401 - before numpy, whose threads it bounds
