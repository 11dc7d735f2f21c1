# SPDX-License-Identifier: BSD-2-Clause
# cmake -DSOURCE_DIR=... -DTARGET_DIR=... -DRULE=FILE -P BreakScripts.cmake
#
# Copies the scripts and breaks a rule in the copy: RULE is a file that says replace(NAME OLD
# NEW). What is not found any more is an error, so that no broken rule mends itself unseen.

file(GLOB scripts "${SOURCE_DIR}/*.lua")
file(MAKE_DIRECTORY "${TARGET_DIR}")
file(COPY ${scripts} DESTINATION "${TARGET_DIR}")

function(replace name old new)
    file(READ "${TARGET_DIR}/${name}.lua" text)
    string(FIND "${text}" "${old}" found)
    if(found EQUAL -1)
        message(FATAL_ERROR "${RULE}: ${name}.lua has no \"${old}\" to be broken")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
    file(WRITE "${TARGET_DIR}/${name}.lua" "${text}")
endfunction()

include("${RULE}")
