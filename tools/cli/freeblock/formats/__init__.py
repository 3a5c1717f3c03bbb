# SPDX-License-Identifier: GPL-2.0
"""Texts that are read: models of drives, descriptions of simulated ones, requests."""
