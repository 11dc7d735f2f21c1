// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// Compiles the library and the addon into build/redlock.node with the compiler of the distribution.
// Needs: cc, the headers of Node (Node-API and libuv) and of OpenSSL 3. No node-gyp, no Python.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const CC = process.env.CC || 'cc';
const FLAGS = [
  '-std=c11', '-O2', '-g', '-fPIC', '-fvisibility=hidden', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2',
  '-D_GNU_SOURCE', '-Wall',
];
// What came with the package, or the tree that this folder is part of. In a program's node_modules, ../../src is
// the source of that program.
const bundled = path.join(__dirname, 'libredlock');
const tree = path.join(__dirname, '..', '..');
const library = fs.existsSync(bundled) ? bundled : tree;
const output = path.join(__dirname, 'build');

function fail(...lines) {
  console.error(`redlock-native: ${lines.join('\nredlock-native: ')}`);
  process.exit(1);
}

// The first folder with the headers: named by the caller, beside this node, of the distribution, of node-gyp.
function findNodeHeaders() {
  const prefix = path.resolve(process.execPath, '..', '..');
  const cache = process.env.npm_config_devdir || path.join(os.homedir(), '.cache', 'node-gyp');
  const folders = [
    process.env.npm_config_nodedir && path.join(process.env.npm_config_nodedir, 'include', 'node'),
    path.join(prefix, 'include', 'node'),
    '/usr/include/node',
    '/usr/include/nodejs/src',
    path.join(cache, process.versions.node, 'include', 'node'),
  ];
  for (const folder of folders) if (folder && fs.existsSync(path.join(folder, 'node_api.h'))) return folder;
  fail(
    `the headers of Node (node_api.h) were found in none of: ${folders.filter(Boolean).join(', ')}`,
    'Debian and Ubuntu: apt-get install libnode-dev. Fedora: dnf install nodejs-devel.',
    `Others: npx node-gyp install ${process.versions.node}, or npm install --nodedir=FOLDER-OF-NODE`,
  );
}

function check(what, text, includes, remedy) {
  try {
    execFileSync(CC, ['-fsyntax-only', '-xc', ...includes.map((folder) => `-I${folder}`), '-'], {
      input: text,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  } catch (error) {
    if (error.code === 'ENOENT')
      fail(`the C compiler '${CC}' is not installed. Debian and Ubuntu: apt-get install gcc libc6-dev libssl-dev`);
    fail(`${what} not found. ${remedy}`, ...String(error.stderr).trim().split('\n').slice(0, 3));
  }
}

function sourcesUnder(folder) {
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory()
        ? sourcesUnder(path.join(folder, entry.name))
        : entry.name.endsWith('.c')
          ? [path.join(folder, entry.name)]
          : [],
    );
}

// The scripts for the servers as a header: part of the package, and made by CMake in the tree.
function findScripts() {
  const made = path.join(library, 'generated');
  if (fs.existsSync(path.join(made, 'rl_scripts.h'))) return made;
  const scripts = path.join(library, 'src', 'scripts');
  try {
    execFileSync('cmake', [
      `-DSOURCE_DIR=${scripts}`, `-DOUTPUT=${path.join(output, 'rl_scripts.h')}`, '-P',
      path.join(library, 'cmake', 'EmbedScripts.cmake'),
    ]);
  } catch (error) {
    fail(`in the source tree cmake is needed to embed the scripts: ${error.message}`);
  }
  return output;
}

function compile(source, object, includes) {
  return new Promise((resolve, reject) => {
    const args = [...FLAGS, ...includes.map((folder) => `-I${folder}`), '-c', source, '-o', object];
    const child = spawn(CC, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('exit', (status) => (status === 0 ? resolve() : reject(new Error(`${CC} failed on ${source}`))));
  });
}

async function main() {
  if (process.platform !== 'linux') fail('libredlock needs Linux: epoll, timerfd, eventfd and CLOCK_BOOTTIME');
  if (library === tree && path.join(tree, 'bindings', 'node') !== __dirname)
    fail(
      'the source of the C library is missing: this is neither the package that `make node-package` makes nor',
      'bindings/node of a clone of redlock. Install the package: npm install ./redlock-native-VERSION.tgz',
    );
  const headers = findNodeHeaders();
  check('the headers of C', '#include <stdio.h>\n', [], 'Debian and Ubuntu: apt-get install libc6-dev');
  check('the headers of OpenSSL 3', '#include <openssl/ssl.h>\n#if OPENSSL_VERSION_MAJOR < 3\n#error too old\n#endif\n',
    [], 'Debian and Ubuntu: apt-get install libssl-dev. Fedora: dnf install openssl-devel');
  check('the headers of libuv', '#include <uv.h>\n', [headers],
    'Debian and Ubuntu: apt-get install libuv1-dev (part of libnode-dev)');

  fs.mkdirSync(output, { recursive: true });
  const own = path.join(__dirname, 'src');
  const includes = [path.join(library, 'include'), path.join(library, 'src'), findScripts()];
  const sources = [...sourcesUnder(path.join(library, 'src')), ...sourcesUnder(own)];
  const objects = sources.map((source, number) => path.join(output, `${number}.o`));
  const waiting = sources.map((source, number) => [source, objects[number]]);
  const work = async () => {
    for (let next; (next = waiting.pop()); ) {
      const isOwn = next[0].startsWith(own);
      // Headers of Node among those of the system, not before ours.
      await compile(next[0], next[1], isOwn ? [...includes.slice(0, 1), headers] : includes);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, os.cpus().length) }, work));
  execFileSync(CC, ['-shared', '-o', path.join(output, 'redlock.node'), ...objects, '-Wl,-z,relro,-z,now', '-lssl', '-lcrypto', '-pthread'],
    { stdio: 'inherit' });
  for (const object of objects) fs.rmSync(object);
  require('./lib/index.js'); // what cannot be loaded was not installed
}

main().catch((error) => fail(error.message));
