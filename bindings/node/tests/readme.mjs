// SPDX-License-Identifier: BSD-2-Clause
// Runs every example of README.md: node readme.mjs README.md. A block of `text` behind one of `js` is what it
// prints.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { program, run, test } from './check.mjs';

const here = new URL('.', import.meta.url).pathname;
const folder = mkdtempSync(`${here}readme-`);
const blocks = [...readFileSync(process.argv[2], 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)];
let count = 0;
blocks.forEach(([, kind, text], index) => {
  if (kind !== 'js') return;
  const next = blocks[index + 1];
  const printed = next?.[1] === 'text' ? next[2] : '';
  const title = text.split('\n').find((line) => line && !/^import|^const client/.test(line));
  const file = `${folder}/${++count}.mjs`;
  test(`The example with \`${title}\` prints what README.md says.`, async () => {
    writeFileSync(file, text);
    const ended = await program([], { file });
    assert.deepEqual({ status: ended.status, out: ended.out, err: ended.err }, { status: 0, out: printed, err: '' });
  });
});
assert.ok(count >= 7, `${count} examples`);
await run();
rmSync(folder, { recursive: true });
