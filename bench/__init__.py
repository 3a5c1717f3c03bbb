# SPDX-License-Identifier: GPL-2.0
"""What freeblock is measured with: benches, the simulated drive against traces of real ones,
the analytic model against both, DiskSim's files. It uses the product's package, which knows
nothing of it; its modules are subcommands of tools/freeblock-bench as the product's are of
tools/freeblock.
"""

import subprocess

from freeblock.base.helpers import TOP


def commit():
    """What of the tree was measured; empty outside of git."""
    done = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"], check=False,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.strip()
