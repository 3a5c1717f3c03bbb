# SPDX-License-Identifier: GPL-2.0
"""What a disk would do, in closed form: "An analytic behavior model for disk drives
with readahead caches and request reordering" (Shriver, Merchant, Wilkes, 1998), and
what free bandwidth it would leave.

Equations are numbered as in that paper. Everything is in SI units: seconds, bytes,
requests per second, cylinders, fractions from 0 to 1; random variables are
distribution.Dist.
"""

import os

# Matrices here are so small that a second thread costs more than it brings: on a busy machine
# twice the time. Counts if numpy has not been imported yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
