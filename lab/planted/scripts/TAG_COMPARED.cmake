# SPDX-License-Identifier: BSD-2-Clause
# A release by tag deletes every holder.
replace(break "return string.sub(text, 1, #tag) == tag" "return true")
