# SPDX-License-Identifier: BSD-2-Clause
"""The extension module redlock_native._native: cffi in API mode over redlock.h and shim.h.

What it declares to cffi is what the two headers do, less what cffi does not read. "..." stands for
what the C compiler finds there, and the compiler checks the rest against the headers as well.
`python3 build_native.py redlock.h OUT.c` writes the C source alone, for a build by CMake.
"""
import os
import re
import sys

from cffi import FFI

MODULE = "redlock_native._native"
PREAMBLE = '#include "shim.h"'
HERE = os.path.dirname(os.path.realpath(__file__))

# Types of the system, and numbers of enums that redlock.h makes from lists.
DECLARATIONS = """
    typedef int... atomic_uint;
    typedef struct { ...; } pthread_rwlock_t;
    #define REDLOCK_EVENT_RELEASED ...
    #define REDLOCK_EVENT_LOST ...
    #define REDLOCK_EVENT_QUEUED ...
    #define REDLOCK_EVENT_ANSWERED ...
    #define REDLOCK_EVENT_WARNING ...
"""


def declarations(path):
    """Numbers, types and functions of a header that is formatted as those of this project are."""
    with open(path, encoding="utf-8") as header:
        text = header.read()
    numbers = re.findall(r"^#define \w+(?= \(?-?\d)", text, re.M)
    for pattern, instead in (
            (r"(?s)/\*.*?\*/|#ifdef __cplusplus.*?#endif", ""),
            (r"(?m)^ *#(?:.*\\\n)*.*", ""),  # of the preprocessor, with lines that go on
            (r"REDLOCK_API|static inline", ""),
            (r"enum \w+ \{\s*\w+\(\w+\)\s*\};", ""),  # made from a list
            (r"(?sm)^\{.*?^\}", ";"),  # the body of a function
            (r"\[\w[^]]*\]", "[...]")):
        text = re.sub(pattern, instead, text)
    return "".join(f"{number} ...\n" for number in numbers) + text


def builder(header):
    ffi = FFI()
    ffi.cdef(DECLARATIONS + declarations(header) + declarations(os.path.join(HERE, "shim.h")))
    return ffi


if __name__ == "__main__":
    ffibuilder = builder(sys.argv[1])
    ffibuilder.set_source(MODULE, PREAMBLE, py_limited_api=True)
    ffibuilder.emit_c_code(sys.argv[2])
else:
    import c_library

    ffibuilder = builder(c_library.header())
    ffibuilder.set_source(MODULE, PREAMBLE, py_limited_api=True, **c_library.build_options())
