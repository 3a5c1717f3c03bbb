# SPDX-License-Identifier: GPL-2.0
"""A disk that is there: who it is, what it is told, the models that are kept for it."""
