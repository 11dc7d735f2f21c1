// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// Before `npm pack`: puts the library's source, with its scripts embedded, and the licence into the
// package, so that installing it needs nothing but a compiler and headers. --clean takes them out again.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const tree = path.join(__dirname, '..', '..');
const bundled = path.join(__dirname, 'libredlock');
const licence = path.join(__dirname, 'LICENSE');

function versionOfHeader() {
  const header = fs.readFileSync(path.join(tree, 'include', 'redlock.h'), 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH']
    .map((part) => header.match(new RegExp(`#define REDLOCK_VERSION_${part} (\\d+)`))[1])
    .join('.');
}

fs.rmSync(bundled, { recursive: true, force: true });
fs.rmSync(licence, { force: true });
if (process.argv[2] !== '--clean') {
  const { version } = require('./package.json');
  if (version !== versionOfHeader())
    throw new Error(`package.json says ${version} and redlock.h says ${versionOfHeader()}: make them the same`);
  fs.cpSync(path.join(tree, 'include'), path.join(bundled, 'include'), { recursive: true });
  fs.cpSync(path.join(tree, 'src'), path.join(bundled, 'src'), {
    recursive: true,
    filter: (source) => !/CMakeLists\.txt$|[/\\]scripts$/.test(source),
  });
  fs.mkdirSync(path.join(bundled, 'generated'));
  execFileSync('cmake', [
    `-DSOURCE_DIR=${path.join(tree, 'src', 'scripts')}`,
    `-DOUTPUT=${path.join(bundled, 'generated', 'rl_scripts.h')}`,
    '-P', path.join(tree, 'cmake', 'EmbedScripts.cmake'),
  ]);
  fs.copyFileSync(path.join(tree, 'LICENSE'), licence);
}
