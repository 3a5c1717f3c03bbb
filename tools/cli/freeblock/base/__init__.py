# SPDX-License-Identifier: GPL-2.0
"""What everything else stands on: files, the terminal, programs in C, and advice."""
