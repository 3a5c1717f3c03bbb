# SPDX-License-Identifier: GPL-2.0
"""python3 -m examples.backup"""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
