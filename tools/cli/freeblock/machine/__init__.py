# SPDX-License-Identifier: GPL-2.0
"""What setup changes on a machine, and how off puts it back."""
