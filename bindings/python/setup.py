# SPDX-License-Identifier: BSD-2-Clause
"""Builds the package from source: pip install ., or pybuild; c_library.py says with which library."""
import concurrent.futures
import os
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import c_library  # noqa: E402 - needs the line above


class BuildExt(build_ext):
    """Compiles the files of the C library on all processors at once."""

    def run(self):
        c_library.check_tools()
        super().run()

    def build_extension(self, ext):
        def compile_one(source):
            return self.compiler.compile(
                [source], output_dir=self.build_temp, macros=ext.define_macros,
                include_dirs=ext.include_dirs, extra_postargs=ext.extra_compile_args)

        library = [s for s in ext.sources if s.startswith(c_library.BUNDLED)]
        ext.sources = [s for s in ext.sources if s not in library]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for objects in pool.map(compile_one, library):
                ext.extra_objects += objects
        super().build_extension(ext)


c_library.bundle()
setup(
    version=c_library.version(),
    cffi_modules=["build_native.py:ffibuilder"],
    cmdclass={"build_ext": BuildExt},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
