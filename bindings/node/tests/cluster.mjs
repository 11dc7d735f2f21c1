// SPDX-License-Identifier: BSD-2-Clause
// Locks on one cluster: redlock dev --cluster -- node cluster.mjs
import assert from 'node:assert/strict';
import { Client } from 'redlock-native';
import { run, test } from './check.mjs';

const CLUSTER = process.env.REDLOCK_NODES;
const c = new Client({ nodes: [CLUSTER], nodeTimeout: 2000 });

test('A lock is taken by the URL of the cluster, and excludes others.', async () => {
  const lock = await c.acquire('cluster', { ttl: 15_000 });
  await assert.rejects(c.acquire('cluster', { wait: 0 }), { code: 'BUSY' });
  assert.deepEqual(c.nodes().map((node) => node.deployment), ['cluster', 'cluster', 'cluster']);
  assert.equal(new Set(c.nodes().map((node) => node.server)).size, 3);
  await lock.release();
});

test('The configuration of the machine may name a cluster.', async () => {
  const other = new Client({ nodeTimeout: 2000 });
  const lock = await other.acquire('cluster', { ttl: 15_000 });
  await lock.release();
  await other.close();
});

test('A URL that names two nodes only is refused, with what to do.', () => {
  assert.throws(() => new Client({ nodes: ['cluster://127.0.0.1:1+127.0.0.1:2'] }), /three of its nodes, or more/);
});

await run();
await c.close();
