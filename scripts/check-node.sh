#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-node.sh REDLOCK: the package of Node as a user gets it. Packs it, installs the tarball in an empty
# directory, checks its types with TypeScript (fetched by npm) and runs the TypeScript of its README.
set -eu
redlock=$(readlink -f "${1:?usage: $0 PATH-OF-REDLOCK}")
tree=$(dirname "$(readlink -f "$0")")/..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$tree/bindings/node"
npm pack --silent --pack-destination "$work" >/dev/null
cd "$work"
npm init --yes >/dev/null
npm install --no-audit --no-fund ./redlock-native-*.tgz
cp "$tree/bindings/node/tests/behaviour.mjs" "$tree/bindings/node/tests/check.mjs" .
"$redlock" dev -c 3 -- node behaviour.mjs "$redlock"
echo "ok - The package installs from its tarball and behaves."

npm install --no-audit --no-fund typescript@5.4 @types/node@18
sed -n '/^```ts$/,/^```$/{/^```/!p}' "$tree/bindings/node/README.md" >using.mts
cp "$tree/bindings/node/tests/types.mts" .
npx tsc --strict --target es2022 --lib es2022,dom --module nodenext --moduleResolution nodenext using.mts types.mts
printed=$("$redlock" dev -c 3 -- node using.mjs)
[ "$printed" = held ] || { echo "not ok - await using printed: $printed"; exit 1; }
echo "ok - The types are right, and await using works."
