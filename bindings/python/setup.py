# SPDX-License-Identifier: BSD-2-Clause
"""Built from source with the C library, which pkg-config finds: pip install ., or pybuild."""
import os
import sys

from setuptools import setup

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_native  # noqa: E402 - needs the line above

setup(
    version=build_native.version(),
    cffi_modules=["build_native.py:ffibuilder"],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
