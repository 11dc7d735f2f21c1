#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# types.sh: mypy --strict has nothing to say about the package and a program that uses it.
set -eu
cd "$(dirname "$0")/.."
command -v mypy >/dev/null || { echo "mypy is not installed: types are not checked"; exit 77; }
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
mypy --cache-dir "$cache" redlock_native tests/typed.py
