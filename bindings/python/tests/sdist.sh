#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# sdist.sh PYTHON REDLOCK: the source distribution installs into a fresh environment without network and without a C
# library, takes a lock there, and says what is missing where it cannot be built.
set -eu
redlock=$2 source=$(readlink -f "$(dirname "$0")/..")
for python in "$1" /usr/bin/python3 ''; do
    [ -n "$python" ] || { echo "no Python with pip, wheel, setuptools, venv and cffi here"; exit 77; }
    "$python" -c 'import setuptools, pip, wheel, venv, cffi' 2>/dev/null && break
done
command -v cmake >/dev/null || { echo "no cmake here"; exit 77; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
die() { echo "not ok - $*"; cat "$tmp/log" 2>/dev/null; exit 1; }

find "$source" -not -name '*.pyc' | sort >"$tmp/before"
PYTHON=$python "$source/pack.sh" "$tmp" sdist
find "$source" -not -name '*.pyc' | sort | cmp -s - "$tmp/before" || die 'packing leaves files in the clone'

unset PKG_CONFIG_PATH LD_LIBRARY_PATH PYTHONPATH
"$python" -m venv --system-site-packages --without-pip "$tmp/venv"
install() { # CC=COMPILER
    env "$1" "$tmp/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-index \
        --no-build-isolation "$tmp"/redlock-native-*.tar.gz >"$tmp/log" 2>&1
}
if install CC=/nonexistent/cc; then die 'it was built without a compiler'; fi
grep -q "the C compiler '/nonexistent/cc' is not installed. Debian and Ubuntu: apt-get install gcc" "$tmp/log" ||
    die 'a missing compiler is not named'
printf '#!/bin/sh\ncase $* in *-fsyntax-only*) ! grep -q openssl ;; *) exit 1 ;; esac\n' >"$tmp/cc"
chmod +x "$tmp/cc"
if install CC="$tmp/cc"; then die 'it was built without OpenSSL'; fi
grep -q 'the headers of OpenSSL 3 not found. Debian and Ubuntu: apt-get install libssl-dev' "$tmp/log" ||
    die 'missing headers of OpenSSL are not named'

install CC="${CC:-cc}" || die 'it does not install'
cd "$tmp" # where no package of ours lies
cat >first.py <<'CODE'
import importlib.metadata
import subprocess
import redlock_native
from redlock_native import _native

files = importlib.metadata.files("redlock-native")
names = {file.parts[0] for file in files}
assert all(name.startswith("redlock_native") for name in names), names
assert importlib.metadata.version("redlock-native") == redlock_native.__version__
assert "libredlock" not in subprocess.run(["ldd", _native.__file__], capture_output=True, text=True).stdout
with redlock_native.Client(node_timeout=3) as client, client.lock("first") as lock:
    print("ours", lock.state)
CODE
[ "$("$redlock" dev -c 3 -- "$tmp/venv/bin/python" -B first.py)" = 'ours held' ] || die 'no lock was taken'
echo "ok"
