# SPDX-License-Identifier: BSD-2-Clause
# cmake -DSOURCE_DIR=... -DTARGET_DIR=... -DRULE=FILE [-DPREFIX=...] -P BreakScripts.cmake
#
# Copies the scripts and breaks a rule in the copy: RULE is a file that says replace(NAME OLD
# NEW). What is not found any more is an error, so that no broken rule mends itself unseen. With
# a PREFIX only the broken scripts are copied, under that prefix, so that the scripts of several
# rules fit into one directory.

file(MAKE_DIRECTORY "${TARGET_DIR}")
if(NOT PREFIX)
    file(GLOB scripts "${SOURCE_DIR}/*.lua")
    file(COPY ${scripts} DESTINATION "${TARGET_DIR}")
endif()

function(replace name old new)
    set(target "${TARGET_DIR}/${PREFIX}${name}.lua")
    if(NOT EXISTS "${target}")
        file(COPY_FILE "${SOURCE_DIR}/${name}.lua" "${target}")
    endif()
    file(READ "${target}" text)
    string(FIND "${text}" "${old}" found)
    if(found EQUAL -1)
        message(FATAL_ERROR "${RULE}: ${name}.lua has no \"${old}\" to be broken")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
    file(WRITE "${target}" "${text}")
endfunction()

include("${RULE}")
