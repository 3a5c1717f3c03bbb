# SPDX-License-Identifier: GPL-2.0
"""What pyproject.toml cannot say: the package has programs in C, built here once, and files of
the tree that lie outside of the Python package."""

import glob
import os
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

TOP = os.path.dirname(os.path.abspath(__file__))
# folder with a makefile, what it makes in the build folder
HELPERS = (("tools/sim", "sim/freeblock-sim"), ("tools/sg", "sg/freeblock-sg"),
           ("tools/judge", "judge/freeblock-judge"),
           ("tools/model", "model/freeblock-model"),
           ("tools/probe", "extract/extract-probe"),
           ("tools/tune", "tune/replay.so"),
           ("tools/mechdisk/host", "mechdisk-host/mechdisk-host"))
DATA = {"drives": ("tools/mechdisk/drives/*.fbdrive", "tools/mechdisk/drives/NOTICE"),
        "models": ("models/*.fbmodel",), "boot": ("tools/boot/*.in",)}


class BuildPy(build_py):
    """And helpers and data, where freeblock/base/helpers.py looks for them."""

    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "freeblock")
        programs = os.path.abspath(os.path.join(self.get_finalized_command("build").build_base,
                                                "programs"))
        for folder in ("helpers", *(os.path.join("data", name) for name in DATA)):
            os.makedirs(os.path.join(package, folder), exist_ok=True)
        for folder, made in HELPERS:
            subprocess.run(["make", "--no-print-directory", "-s", "-C", os.path.join(TOP, folder),
                            "BUILD=" + programs], check=True)
            shutil.copy(os.path.join(programs, made), os.path.join(package, "helpers"))
        for name, patterns in DATA.items():
            for pattern in patterns:
                for path in sorted(glob.glob(os.path.join(TOP, pattern))):
                    shutil.copy(path, os.path.join(package, "data", name))


class Binary(Distribution):
    """Not for every machine."""

    def has_ext_modules(self):
        return True


class BdistWheel(bdist_wheel):
    """Programs of this platform, for every Python 3."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": BuildPy, "bdist_wheel": BdistWheel}, distclass=Binary)
