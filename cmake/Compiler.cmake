# SPDX-License-Identifier: BSD-2-Clause
# Warnings, hardening and sanitizers, the same for every target of this tree and for every way to
# configure it.

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
check_pie_supported(LANGUAGES C)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wwrite-strings
    $<$<COMPILE_LANGUAGE:C>:-Wdeclaration-after-statement>
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(REDLOCK_WERROR)
    add_compile_options(-Werror)
endif()

# ---- hardening -----------------------------------------------------------------------------

# Flags of the user or the distribution come first on the command line and are left alone: what
# CMAKE_C_FLAGS says about a protection, for it or against it, decides. -Werror: clang takes flags
# of other processors with a warning.
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection=full
        -mbranch-protection=standard)
    string(REGEX REPLACE "^-[fm](stack-protector|[a-z-]+).*" "\\1" protection "${flag}")
    if(CMAKE_C_FLAGS MATCHES "${protection}")
        continue()
    endif()
    string(MAKE_C_IDENTIFIER "REDLOCK_HAVE${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
        add_compile_options(${flag})
    endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

# The checks of the C library need an optimising compiler, and get in the way of sanitizers.
# Level 3 knows the sizes of more objects; where it is not known, the library warns of it.
if(NOT REDLOCK_SANITIZE AND NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE")
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
    check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }"
        REDLOCK_HAVE_FORTIFY_3)
    unset(CMAKE_REQUIRED_FLAGS)
    set(level $<IF:$<BOOL:${REDLOCK_HAVE_FORTIFY_3}>,3,2>)
    add_compile_options("$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>"
        "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=${level}>")
endif()

add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)

# ---- sanitizers ----------------------------------------------------------------------------

if(REDLOCK_SANITIZE)
    add_compile_options(-fsanitize=${REDLOCK_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${REDLOCK_SANITIZE})
endif()
