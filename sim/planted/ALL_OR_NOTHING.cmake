# SPDX-License-Identifier: BSD-2-Clause
# A node that has the first of several names free grants them all.
include("${CMAKE_CURRENT_LIST_DIR}/../../tests/broken/partial.cmake")
