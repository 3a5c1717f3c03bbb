# SPDX-License-Identifier: GPL-2.0
"""The analytic model held against simulated drives: what validate-predict measures and compares."""

import freeblock.prediction  # noqa: F401 - before numpy, whose threads it bounds
