// SPDX-License-Identifier: BSD-2-Clause
// install.js compiles the C library that came with it or that of its own tree, and nothing else:
// node install.mjs INSTALL.JS
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, test } from './check.mjs';

test('In node_modules, without its library, install.js refuses and leaves the sources of the program alone.', () => {
  const program = mkdtempSync(join(tmpdir(), 'redlock-'));
  const folder = join(program, 'node_modules', 'redlock-native');
  try {
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(program, 'src'));
    writeFileSync(join(program, 'src', 'main.c'), '#error compiled\n');
    copyFileSync(process.argv[2], join(folder, 'install.js'));
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'install.js')], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /the source of the C library is missing/);
    assert.deepEqual(readdirSync(folder), ['install.js']);
  } finally {
    rmSync(program, { recursive: true });
  }
});

await run();
