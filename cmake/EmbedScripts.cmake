# SPDX-License-Identifier: BSD-2-Clause
# cmake -DSOURCE_DIR=... -DOUTPUT=... -P EmbedScripts.cmake
#
# Writes a header with two macros for each NAME.lua of SOURCE_DIR: RL_SCRIPT_NAME, the text as
# a string constant without its comment lines, and RL_SCRIPT_NAME_SHA1, the digest of exactly
# that text, by which EVALSHA calls it. RL_SCRIPTS(X) is X(NAME) for every script.

include("${CMAKE_CURRENT_LIST_DIR}/AssembleScript.cmake")

set(header "/* Generated from the Lua scripts of the source tree. */\n")
string(APPEND header "#ifndef RL_SCRIPTS_H\n#define RL_SCRIPTS_H\n")
# ISO C asks compilers for 4095 characters in a string constant; gcc and clang take any number.
string(APPEND header "\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")

set(names "")
file(GLOB scripts "${SOURCE_DIR}/*.lua")
foreach(script IN LISTS scripts)
    get_filename_component(name "${script}" NAME_WE)
    redlock_assemble_script("${SOURCE_DIR}" "${name}" text)
    if(text MATCHES "--\\[=*\\[")
        message(FATAL_ERROR "${script}: block comments would be cut in half; use -- lines")
    endif()

    # Comments and indentation are for the reader; the servers need not store them.
    string(REGEX REPLACE "\n[ \t]*--[^\n]*" "" text "\n${text}")
    string(REGEX REPLACE "\n[ \t]+" "\n" text "${text}")
    string(REGEX REPLACE "^\n+" "" text "${text}")
    string(SHA1 digest "${text}")

    # A question mark is escaped because two of them may start a trigraph.
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "?" "\\?" text "${text}")
    string(REPLACE "\n" "\\n\" \\\n    \"" text "${text}")

    string(TOUPPER "${name}" name)
    string(APPEND names " \\\n    X(${name})")
    set(text "\"${text}\"")
    string(REGEX REPLACE " \\\\\n    \"\"$" "" text "${text}")
    string(APPEND header "\n#define RL_SCRIPT_${name} \\\n    ${text}\n")
    string(APPEND header "#define RL_SCRIPT_${name}_SHA1 \"${digest}\"\n")
endforeach()

string(APPEND header "\n#define RL_SCRIPTS(X)${names}\n\n#endif\n")
file(WRITE "${OUTPUT}" "${header}")
