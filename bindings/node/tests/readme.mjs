// SPDX-License-Identifier: BSD-2-Clause
// Runs every example of the files that uses the package: node readme.mjs README.md... A block of `text` behind
// one of `js` is what it prints.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { program, run, test } from './check.mjs';

const here = new URL('.', import.meta.url).pathname;
const folder = mkdtempSync(`${here}readme-`);
const text = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'));
const blocks = [...text.join('\n').matchAll(/^```(\w+)\n(.*?)^```$/gms)];
let count = 0;
blocks.forEach(([, kind, text], index) => {
  if (kind !== 'js' || !text.includes('redlock-native')) return;
  const next = blocks[index + 1];
  const printed = next?.[1] === 'text' ? next[2] : null; // null: it may print what it likes
  const title = text.split('\n').find((line) => line && !/^import|^const client/.test(line));
  const file = `${folder}/${++count}.mjs`;
  test(`The example with \`${title}\` prints what README.md says.`, async () => {
    writeFileSync(file, text);
    const ended = await program([], { file });
    assert.deepEqual({ status: ended.status, err: ended.err }, { status: 0, err: '' });
    if (printed !== null) assert.equal(ended.out, printed);
  });
});
assert.ok(count >= 8, `${count} examples`);

test('The table of defaults is that of the main README.md, and true.', () => {
  const [table, main] = text.slice(0, 2).map((file) => file.match(/^\| \| ttl \|.*?\n\n/ms)[0]);
  assert.equal(table, main);
  const { readRequest } = createRequire(createRequire(import.meta.url).resolve('redlock-native'))('./request.js');
  const yes = (flag) => (flag ? 'yes' : 'no');
  for (const [call, hasBody] of [['using', true], ['acquire', false]]) {
    const { ttl, wait, flags } = readRequest('x', {}, hasBody);
    const row = [`Node \`${call}()\``, `${ttl / 1000} s`, wait === 0 ? 'no' : 'for ever', yes(flags & 1), yes(flags & 2)];
    assert.ok(table.includes(`| ${row.join(' | ')} |`), row.join());
  }
});

await run();
rmSync(folder, { recursive: true });
