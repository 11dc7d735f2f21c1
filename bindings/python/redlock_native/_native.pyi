# SPDX-License-Identifier: BSD-2-Clause
# The extension module, made by build_native.py: cffi gives it no types of its own.
from typing import Any

ffi: Any
lib: Any
