// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// An addon that came compiled with the package is used where it can be loaded; `--build-from-source` leaves it out. Else
// the library and the addon are compiled into build/redlock.node, which needs a C compiler and the headers of C,
// of OpenSSL 3 and of Node (Node-API and libuv). Where that is not possible, one sentence says what to do.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { compile, findNodeHeaders, isComplete } = require('./compile.js');
const prebuilt = require('./lib/prebuilt.js');

const CC = (process.env.CC || 'cc').split(' ');
const output = path.join(__dirname, 'build');
const INSTALL = {
  'apt-get': 'apt-get install gcc libc6-dev libssl-dev libnode-dev',
  dnf: 'dnf install gcc glibc-devel openssl-devel nodejs-devel',
  apk: 'apk add gcc musl-dev linux-headers openssl-dev nodejs-dev',
  zypper: 'zypper install gcc glibc-devel libopenssl-3-devel nodejs-devel',
};

function fail(sentence) {
  console.error(`redlock-native: ${sentence}`);
  process.exit(1);
}

// Why the addon that came with the package is not used, as the beginning of a sentence; null if it is.
function refusePrebuilt() {
  const { npm_config_build_from_source: fromSource } = process.env;
  if (fromSource === 'true' || fromSource === 'redlock-native') return 'it was to be built from source';
  if (!fs.existsSync(prebuilt.file)) return `no prebuilt addon came with it for this system (${prebuilt.system})`;
  // In a process of its own: an addon that is wrong for the system may end it.
  const { status, stderr } = spawnSync(process.execPath, ['-e', 'require(process.argv[1])', prebuilt.file], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const why = /^Error: (.*)/m.exec(stderr) || ['', 'the process ended'];
  return status === 0 ? null : `the prebuilt addon for ${prebuilt.system} cannot be loaded here (${why[1]})`;
}

function compiles(text, ...includes) {
  const args = ['-fsyntax-only', '-xc', ...includes.map((folder) => `-I${folder}`), '-'];
  return spawnSync(CC[0], [...CC.slice(1), ...args], { input: text }).status === 0;
}

// What compiling needs and this system lacks.
function missing() {
  if (!compiles('int nothing;\n')) return [`a C compiler ('${CC[0]}')`];
  const headers = findNodeHeaders();
  const openssl = '#include <openssl/ssl.h>\n#if OPENSSL_VERSION_MAJOR < 3\n#error too old\n#endif\n';
  return [
    compiles('#include <stdio.h>\n') ? '' : 'the headers of C',
    compiles(openssl) ? '' : 'the headers of OpenSSL 3',
    headers && compiles('#include <node_api.h>\n#include <uv.h>\n', headers) ? '' : 'the headers of Node',
  ].filter(Boolean);
}

// The command of this system's package manager that installs what is missing.
function remedy() {
  const folders = (process.env.PATH || '').split(':');
  const isThere = (manager) => folders.some((folder) => fs.existsSync(path.join(folder, manager)));
  const manager = Object.keys(INSTALL).find(isThere);
  return manager ? `run \`${INSTALL[manager]}\`` : 'install that with the package manager of this system';
}

async function main() {
  if (process.platform !== 'linux') fail('libredlock needs Linux: use it there, or redlockd over HTTP from here.');
  const refusal = refusePrebuilt();
  if (!refusal) return fs.rmSync(output, { recursive: true, force: true }); // of another version or system
  if (!isComplete)
    fail(
      `${refusal}, and the source of the C library is missing: install the package that \`make node-package\` ` +
        'makes, by npm install ./redlock-native-VERSION.tgz.',
    );
  const lacking = missing();
  if (lacking.length > 0)
    fail(`${refusal}, and compiling one needs ${lacking.join(' and ')}: ${remedy()}, then install again.`);
  await compile(CC, path.join(output, 'redlock.node'), false);
  require('./lib/index.js'); // what cannot be loaded was not installed
}

main().catch((error) => fail(`it was not compiled: ${error.message}`));
