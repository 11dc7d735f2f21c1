# SPDX-License-Identifier: BSD-2-Clause
# The toolchain of static programs: Debian's compiler for REDLOCK_ARCHITECTURE (amd64 or arm64), native or cross, with
# the headers and libraries that scripts/sysroot.sh has unpacked for it, and none of this machine.
set(CMAKE_SYSTEM_NAME Linux)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES REDLOCK_ARCHITECTURE)
set(processors amd64 x86_64 arm64 aarch64)
list(FIND processors "${REDLOCK_ARCHITECTURE}" at)
math(EXPR at "${at} + 1")
list(GET processors ${at} CMAKE_SYSTEM_PROCESSOR)

set(CMAKE_C_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-gcc)
cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR NORMALIZE OUTPUT_VARIABLE tree)
cmake_path(GET tree PARENT_PATH tree)
set(CMAKE_SYSROOT "${tree}/build/sysroot/${REDLOCK_ARCHITECTURE}")
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)

# A cross compiler has libraries of its own, the C library without Debian's security fixes, and looks there first.
set(libraries "${CMAKE_SYSROOT}/usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
set(runtime "${CMAKE_SYSROOT}/usr/lib/gcc/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/12")
set(CMAKE_C_FLAGS_INIT "-B${libraries} -B${runtime} -ffile-prefix-map=${tree}=.")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-pie -s -L${libraries}")
