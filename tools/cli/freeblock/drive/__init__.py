# SPDX-License-Identifier: GPL-2.0
"""A present disk: its identity, its modes, the models that are kept for it."""
