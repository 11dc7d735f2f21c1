// SPDX-License-Identifier: BSD-2-Clause
// Our own binding for Node among the peers; run.py names the package by REDLOCK_NATIVE.
import { createRequire } from 'node:module';
import { TTL_MS, drive, options } from './harness.mjs';

const { Client } = createRequire(import.meta.url)(process.env.REDLOCK_NATIVE);
const WAIT_MS = 5000; // for the one name: far more than a turn takes, as ours.c

await drive(() => {
  const client = new Client({ nodes: options.nodes.split(',') });
  const request = { ttl: TTL_MS, fair: options.fair };
  if (options.workload === 'one_name') request.wait = WAIT_MS;
  return {
    acquire: (name) => client.acquire(name, request),
    release: (lock) => lock.release(),
  };
});
