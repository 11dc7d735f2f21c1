// SPDX-License-Identifier: BSD-2-Clause
// install.js uses the addon that came with the package where it can be loaded, else compiles the C library that came
// with it or that of its own tree, and nothing else: node install.mjs FOLDER-OF-THE-PACKAGE ADDON
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, test } from './check.mjs';

const [, , source, addon] = process.argv;
const system = `linux-${process.arch}`;

// As npm unpacks it, with the source of a program around it and none of the library. `inside` gets the program's folder
// and the package's.
function unpacked(inside) {
  const program = mkdtempSync(join(tmpdir(), 'redlock-'));
  const folder = join(program, 'node_modules', 'redlock-native');
  try {
    mkdirSync(join(program, 'src'));
    writeFileSync(join(program, 'src', 'main.c'), '#error compiled\n');
    mkdirSync(join(folder, 'prebuilt'), { recursive: true });
    cpSync(join(source, 'lib'), join(folder, 'lib'), { recursive: true });
    for (const file of ['package.json', 'install.js', 'compile.js']) copyFileSync(join(source, file), join(folder, file));
    inside(program, folder);
  } finally {
    rmSync(program, { recursive: true });
  }
}

function install(folder, { env = {}, options = [] } = {}) {
  return spawnSync(process.execPath, [...options, join(folder, 'install.js')], {
    encoding: 'utf8',
    env: { ...process.env, npm_config_build_from_source: '', ...env },
  });
}

// One line, which is one sentence.
function assertRefused({ status, stderr }, ...parts) {
  assert.equal(status, 1, stderr);
  assert.match(stderr, /^redlock-native: [^\n]*\.\n$/);
  for (const part of parts) assert.ok(stderr.includes(part), `${part} is not in: ${stderr}`);
}

// Makes node believe that it is this program.
function pretend(program, execPath) {
  const script = join(program, 'pretend.cjs');
  writeFileSync(script, `process.execPath = ${JSON.stringify(execPath)};\n`);
  return ['--require', script];
}

test('In node_modules, without its library, install.js refuses and leaves the sources of the program alone.', () => {
  unpacked((program, folder) => {
    assertRefused(install(folder), `(${system}-glibc)`, 'the source of the C library is missing');
    assert.ok(!existsSync(join(folder, 'build')));
  });
});

test('A prebuilt addon is used without a compiler, and one that was compiled before is removed.', () => {
  unpacked((program, folder) => {
    copyFileSync(addon, join(folder, 'prebuilt', `${system}-glibc.node`));
    mkdirSync(join(folder, 'build'));
    writeFileSync(join(folder, 'build', 'redlock.node'), 'of an older version');
    const { status, stdout, stderr } = install(folder, { env: { CC: '/nonexistent/cc' } });
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
    assert.ok(!existsSync(join(folder, 'build')));
    execFileSync(process.execPath, ['-e', 'new (require(process.argv[1]).Client)({ nodes: ["127.0.0.1:1"] }).close()', folder]);
  });
});

test('--build-from-source leaves a prebuilt addon out.', () => {
  unpacked((program, folder) => {
    copyFileSync(addon, join(folder, 'prebuilt', `${system}-glibc.node`));
    assertRefused(install(folder, { env: { npm_config_build_from_source: 'true' } }), 'it was to be built from source');
  });
});

test('A prebuilt addon that cannot be loaded, and no compiler: one sentence says why and what to install.', () => {
  unpacked((program, folder) => {
    writeFileSync(join(folder, 'prebuilt', `${system}-glibc.node`), 'not an addon');
    mkdirSync(join(folder, 'libredlock'));
    const env = { CC: '/nonexistent/cc', PATH: program };
    assertRefused(install(folder, { env }), 'cannot be loaded here (', 'needs a C compiler', 'package manager');
    writeFileSync(join(program, 'apk'), '');
    assertRefused(install(folder, { env }), 'run `apk add gcc musl-dev', 'then install again');
  });
});

test('In a node of musl an addon for glibc is not even tried.', () => {
  unpacked((program, folder) => {
    copyFileSync(addon, join(folder, 'prebuilt', `${system}-glibc.node`));
    const node = join(program, 'node');
    const loader = '-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1';
    execFileSync(process.env.CC || 'cc', ['-xc', '-', loader, '-o', node], { input: 'int main(void) { return 0; }\n' });
    const options = pretend(program, node);
    assertRefused(install(folder, { options }), `no prebuilt addon came with it for this system (${system}-musl)`);
    const load = spawnSync(process.execPath, [...options, '-e', 'require(process.argv[1])', folder], { encoding: 'utf8' });
    assert.match(load.stderr, new RegExp(`no addon came with it for ${system}-musl`));
  });
});

test('A node that is no ELF file gets no prebuilt addon.', () => {
  unpacked((program, folder) => {
    const script = join(program, 'node');
    writeFileSync(script, '#!/bin/sh\n');
    assertRefused(install(folder, { options: pretend(program, script) }), `(${system}-unknown)`);
  });
});

await run();
