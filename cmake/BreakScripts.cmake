# SPDX-License-Identifier: BSD-2-Clause
# cmake -DSOURCE_DIR=... -DTARGET_DIR=... -DRULE=FILE -DPREFIX=... -P BreakScripts.cmake
#
# Assembles the scripts and breaks a rule in them: RULE is a file of replace(NAME OLD NEW). NAME is
# a script, or a piece: then the words are replaced in every script that includes it. What is not
# found any more is an error, so that no broken rule mends itself unseen. Only the broken scripts
# are written, under the PREFIX, so that those of several rules fit into one directory.

include("${CMAKE_CURRENT_LIST_DIR}/AssembleScript.cmake")

file(MAKE_DIRECTORY "${TARGET_DIR}")
file(GLOB scripts RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/*.lua")
list(TRANSFORM scripts REPLACE "\\.lua$" "")

function(replace_in_script name old new)
    set(target "${TARGET_DIR}/${PREFIX}${name}.lua")
    if(EXISTS "${target}")
        file(READ "${target}" text)
    else()
        redlock_assemble_script("${SOURCE_DIR}" "${name}" text)
    endif()
    string(FIND "${text}" "${old}" found)
    if(found EQUAL -1)
        message(FATAL_ERROR "${RULE}: ${name}.lua has no \"${old}\" to be broken")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
    file(WRITE "${target}" "${text}")
endfunction()

function(replace name old new)
    if(NOT EXISTS "${SOURCE_DIR}/pieces/${name}.lua")
        replace_in_script("${name}" "${old}" "${new}")
        return()
    endif()
    foreach(script IN LISTS scripts)
        file(READ "${SOURCE_DIR}/${script}.lua" text)
        string(FIND "${text}" "-- include ${name}\n" included)
        if(NOT included EQUAL -1)
            replace_in_script("${script}" "${old}" "${new}")
        endif()
    endforeach()
endfunction()

include("${RULE}")
