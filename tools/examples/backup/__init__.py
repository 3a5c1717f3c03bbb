# SPDX-License-Identifier: GPL-2.0
"""An image of a mounted disk at one point in time, read in the gaps of its foreground
(Documentation/examples.rst).

cow.py: what a snapshot's store says; files.py: the image and what lies beside it; snapshot.py:
taking and removing the snapshot; passes.py: what is read; cli.py: the commands.
"""


class BackupError(Exception):
    """What the user is told, without a traceback."""
