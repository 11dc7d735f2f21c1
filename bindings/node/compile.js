// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// The C library and the addon, from their sources to one file. No node-gyp, no Python.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const FLAGS = [
  '-std=c11', '-O2', '-g', '-fPIC', '-fvisibility=hidden', '-fstack-protector-strong', '-fstack-clash-protection',
  '-D_FORTIFY_SOURCE=2', '-D_GNU_SOURCE', '-Wall',
];
const own = path.join(__dirname, 'src');
// What came with the package, or the tree that this folder is part of. In a program's node_modules, ../../src is
// the source of that program.
const bundled = path.join(__dirname, 'libredlock');
const tree = path.join(__dirname, '..', '..');
const library = fs.existsSync(bundled) ? bundled : tree;
const isComplete = library === bundled || path.join(tree, 'bindings', 'node') === __dirname;

// Where the headers of Node may be: named by the caller, beside this node, of the distribution, of node-gyp.
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
  return folders.find((folder) => folder && fs.existsSync(path.join(folder, 'node_api.h')));
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
function findScripts(folder) {
  const made = path.join(library, 'generated');
  if (fs.existsSync(path.join(made, 'rl_scripts.h'))) return made;
  const scripts = path.join(library, 'src', 'scripts');
  try {
    execFileSync('cmake', [
      `-DSOURCE_DIR=${scripts}`, `-DOUTPUT=${path.join(folder, 'rl_scripts.h')}`, '-P',
      path.join(library, 'cmake', 'EmbedScripts.cmake'),
    ]);
  } catch (error) {
    throw new Error(`in the source tree cmake is needed to embed the scripts: ${error.message}`);
  }
  return folder;
}

function run(command) {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('exit', (status) => (status === 0 ? resolve() : reject(new Error(`this failed: ${command.join(' ')}`))));
  });
}

// compile(CC, OUTPUT): CC is the compiler with its options, as a list. With isOpensslInside OpenSSL becomes part of the
// file, which then needs the C library alone; else the system's is used.
async function compile(cc, output, isOpensslInside) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redlock-'));
  const flags = isOpensslInside ? [...FLAGS, '-g0', '-DREDLOCK_OPENSSL_INSIDE', `-ffile-prefix-map=${tree}=.`] : FLAGS;
  const includes = [path.join(library, 'include'), path.join(library, 'src'), findScripts(folder)];
  const sources = [...sourcesUnder(path.join(library, 'src')), ...sourcesUnder(own)].sort();
  const objects = sources.map((source, number) => path.join(folder, `${number}.o`));
  const waiting = sources.map((source, number) => [source, objects[number]]);
  const work = async () => {
    for (let next; (next = waiting.pop()); ) {
      // Headers of Node among those of the system, not before ours.
      const folders = next[0].startsWith(own) ? [includes[0], findNodeHeaders()] : includes;
      await run([...cc, ...flags, ...folders.map((name) => `-I${name}`), '-c', next[0], '-o', next[1]]);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, os.cpus().length) }, work));
  // OpenSSL has destructors of threads, which run after the last worker has let go of the addon: nodelete.
  const openssl = isOpensslInside
    ? ['-s', '-Wl,-z,nodelete', '-Wl,--exclude-libs,ALL', '-l:libssl.a', '-l:libcrypto.a']
    : ['-lssl', '-lcrypto'];
  fs.mkdirSync(path.dirname(output), { recursive: true });
  await run([
    ...cc, '-shared', '-o', output, ...objects, `-Wl,--version-script=${path.join(own, 'addon.map')}`,
    '-Wl,-z,relro,-z,now', ...openssl, '-pthread',
  ]);
  fs.rmSync(folder, { recursive: true });
}

module.exports = { compile, findNodeHeaders, isComplete };
