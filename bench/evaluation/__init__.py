# SPDX-License-Identifier: GPL-2.0
"""What `freeblock-bench bench` measures: a module each, the rows of its summary, its runs."""
