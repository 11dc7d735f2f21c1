# SPDX-License-Identifier: BSD-2-Clause
#
# redlock_assemble_script(DIR NAME OUT) reads DIR/NAME.lua into OUT, with the text of
# DIR/pieces/PIECE.lua in place of every line "-- include PIECE". Pieces include nothing: what a
# script consists of is said in one file.

function(redlock_assemble_script dir name out)
    file(READ "${dir}/${name}.lua" text)
    string(REGEX MATCHALL "-- include [a-z_]+\n" lines "${text}")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "-- include ([a-z_]+)\n" "\\1" piece "${line}")
        if(NOT EXISTS "${dir}/pieces/${piece}.lua")
            message(FATAL_ERROR "${dir}/${name}.lua: there is no pieces/${piece}.lua")
        endif()
        file(READ "${dir}/pieces/${piece}.lua" piece_text)
        string(FIND "\n${piece_text}" "\n-- include " nested)
        if(NOT nested EQUAL -1)
            message(FATAL_ERROR "${dir}/pieces/${piece}.lua: a piece includes another")
        endif()
        string(REPLACE "-- include ${piece}\n" "${piece_text}" text "${text}")
    endforeach()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()
