# SPDX-License-Identifier: GPL-2.0
"""What "freeblock tune" computes: Practical Scrubbing (Amvrosiadis, Oprea and
Schroeder, DSN 2012), section V. Times are integers in ns wherever a result
depends on them."""
