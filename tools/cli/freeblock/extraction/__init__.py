# SPDX-License-Identifier: GPL-2.0
"""What `freeblock extract` measures a drive with: one module a topic."""
