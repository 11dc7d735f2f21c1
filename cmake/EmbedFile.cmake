# SPDX-License-Identifier: BSD-2-Clause
# cmake -DINPUT=... -DOUTPUT=... -P EmbedFile.cmake
#
# Writes the bytes of a file as the elements of a C array, for `static const char x[] = { #include ... };`.

file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "${bytes}\n")
