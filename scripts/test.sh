#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# test.sh PRESET [JOBS [OPTION...]]: the tests of a preset, all or as ctest's options name them. A test that fails beside others has failed: none of
# them judges by time, but those of tests/alone, which run alone.
set -uo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: test.sh PRESET [JOBS [OPTION...]]}
exec ctest --preset "$preset" --parallel "${2:-12}" "${@:3}"
