// SPDX-License-Identifier: BSD-2-Clause
// Cycles without a leak: node --expose-gc memory.mjs CYCLES. Memory, descriptors and handles of the loop
// after all cycles are what they were after a tenth of them.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'redlock-native';

const CALLERS = 32;
const GROWTH_MAX = 24 * 1024 * 1024; // what allocators keep for themselves; of 100,000 cycles, 250 bytes each
const FAILURES = 40_000; // a kilobyte that each of them left behind would be too much
const cycles = Number(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'redlock-'));
const configFile = join(folder, 'redlock.conf');
writeFileSync(configFile, 'nodes = redis://:s3cret@127.0.0.1:1\n', { mode: 0o644 });
process.on('exit', () => rmSync(folder, { recursive: true }));

async function settle() {
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    await turn();
    await sleep(10);
  }
}

// Clients, refusals, aborted waits, losses, questions and workers of the loop: every way through the addon.
async function caller(client, number, count) {
  for (let i = 0; i < count; i++) {
    await client.using(`own-${number}`, { ttl: 20_000, label: 'memory' }, async (signal, lock) => {
      if (i % 4 === 0) await client.acquire(`own-${number}`).catch(() => {});
      if (i % 8 === 0) await lock.extend(20_000);
      if (i % 8 === 1) await client.query(`own-${number}`);
      if (i % 8 === 2) {
        const controller = new AbortController();
        const waits = client.acquire(`own-${number}`, { wait: Infinity, signal: controller.signal });
        await turn();
        controller.abort();
        await waits.catch(() => {});
      }
    });
  }
}

// Clients that warn while they are opened, and then cannot be.
function failToOpen(count) {
  for (let i = 0; i < count; i++)
    assert.throws(() => new Client({ configFile, driftPpm: 2 ** 31 }), /drift/);
}

async function cycle(count, failures) {
  const rounds = 10;
  failToOpen(failures);
  for (let round = 0; round < rounds; round++) {
    const client = new Client({ nodeTimeout: 5000 });
    const each = Math.ceil(count / rounds / CALLERS);
    await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(client, number, each)));
    await client.acquire('left-to-close', { wait: 20_000 });
    await client.close();
  }
  await settle();
  return {
    rss: process.memoryUsage().rss,
    heap: process.memoryUsage().heapUsed,
    descriptors: readdirSync('/proc/self/fd').length,
    handles: process.getActiveResourcesInfo().length,
  };
}

await cycle(cycles / 10, FAILURES / 10);
const before = await cycle(cycles / 10, FAILURES / 10);
const after = await cycle(cycles, FAILURES);
console.log(JSON.stringify({ cycles, before, after }));
assert.ok(after.rss - before.rss < GROWTH_MAX, `${after.rss - before.rss} bytes more`);
assert.ok(after.heap - before.heap < GROWTH_MAX / 4, `${after.heap - before.heap} bytes more in the heap`);
assert.equal(after.descriptors, before.descriptors);
assert.equal(after.handles, before.handles);
