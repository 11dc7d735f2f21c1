// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// Before `npm pack`: puts the library's source, with its scripts embedded, and the licence into the package, so that
// compiling it needs nothing but a compiler and headers; and the addon compiled for each processor that REDLOCK_PREBUILT
// names (x86_64, aarch64), with OpenSSL inside. --clean takes all of that out again.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { compile } = require('./compile.js');

const tree = path.join(__dirname, '..', '..');
const bundled = path.join(__dirname, 'libredlock');
const prebuilt = path.join(__dirname, 'prebuilt');
const licence = path.join(__dirname, 'LICENSE');
const NAMES = { x86_64: 'linux-x64-glibc', aarch64: 'linux-arm64-glibc' };

function versionOfHeader() {
  const header = fs.readFileSync(path.join(tree, 'include', 'redlock.h'), 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH']
    .map((part) => header.match(new RegExp(`#define REDLOCK_VERSION_${part} (\\d+)`))[1])
    .join('.');
}

function bundleSource() {
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
}

async function addPrebuilt(processor) {
  const script = (name, ...args) =>
    execFileSync(path.join(tree, 'scripts', name), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const addon = path.join(prebuilt, `${NAMES[processor]}.node`);
  const cc = script('prebuilt-cc.sh', processor).trim().split(' ');
  await compile(cc, addon, true);
  fs.chmodSync(addon, 0o644); // a linker makes programs
  console.error(`${NAMES[processor]}: glibc ${script('check-inside.sh', addon).trim()} or newer`);
  const sysroot = cc.find((word) => word.startsWith('--sysroot=')).replace('--sysroot=', '');
  fs.writeFileSync(path.join(prebuilt, 'LICENSE.OpenSSL'), script('openssl-licence.sh', sysroot));
}

async function main() {
  process.umask(0o022); // the archive keeps the modes
  for (const made of [bundled, prebuilt, licence]) fs.rmSync(made, { recursive: true, force: true });
  if (process.argv[2] === '--clean') return;
  const { version } = require('./package.json');
  if (version !== versionOfHeader())
    throw new Error(`package.json says ${version} and redlock.h says ${versionOfHeader()}: make them the same`);
  for (const processor of (process.env.REDLOCK_PREBUILT || '').split(' ').filter(Boolean)) await addPrebuilt(processor);
  bundleSource();
  fs.copyFileSync(path.join(tree, 'LICENSE'), licence);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
