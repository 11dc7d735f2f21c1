#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# test.sh PRESET [JOBS]: all tests of a preset. A test that fails beside others has failed: what
# a busy machine may add to a time is measured by the tests themselves (tests/support/pulse.h).
set -uo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: test.sh PRESET [JOBS]}
exec ctest --preset "$preset" --parallel "${2:-8}"
