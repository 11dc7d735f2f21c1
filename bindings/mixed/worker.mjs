// SPDX-License-Identifier: BSD-2-Clause
// node worker.mjs LOG COUNT: the part of Node in the mixed test; run.sh says what a worker does.
import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const { Client } = createRequire(import.meta.url)(process.env.REDLOCK_NATIVE);
const SURE_MS = 2500; // with less than this left a worker writes nothing
const [log, count] = process.argv.slice(2);
const client = new Client();

async function writeNext(lock) {
  const [number = 0] = readFileSync(log, 'utf8').trimEnd().split('\n').at(-1).split(' ');
  await sleep(1); // in which another would be seen
  if (lock.remaining < SURE_MS) return 0;
  appendFileSync(log, `${Number(number) + 1} ${lock.fence} node ${process.pid}\n`);
  return 1;
}

for (let left = Number(count); left > 0; )
  left -= await client.using('mixed', { ttl: 5000, wait: 60_000, fenced: true }, (signal, lock) => writeNext(lock));
