# SPDX-License-Identifier: GPL-2.0
# What t-drift.sh and s-drift.sh share: a drive that warms up under freeblock.

