# SPDX-License-Identifier: GPL-2.0
"""What asks the module for blocks: scans and their files of digests, scrubs and their coverage."""
