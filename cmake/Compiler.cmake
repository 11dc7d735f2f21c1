# SPDX-License-Identifier: BSD-2-Clause
# Warnings and sanitizers, the same for every target of this tree.

set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wwrite-strings
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(REDLOCK_WERROR)
    add_compile_options(-Werror)
endif()

if(REDLOCK_SANITIZE)
    add_compile_options(-fsanitize=${REDLOCK_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${REDLOCK_SANITIZE})
endif()
