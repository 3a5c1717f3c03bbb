# SPDX-License-Identifier: GPL-2.0
"""What the module says of disks and their tasks: its files, and what they mean together."""
