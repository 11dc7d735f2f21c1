// SPDX-License-Identifier: BSD-2-Clause
// Locks on one Sentinel group: redlock dev --sentinel -- node sentinel.mjs REDLOCK
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { Client } from 'redlock-native';
import { run, test } from './check.mjs';

const GROUP = process.env.REDLOCK_NODES;
const c = new Client({ nodes: [GROUP], nodeTimeout: 2000 });

test('A lock is taken by the URL of the group, and excludes others.', async () => {
  const lock = await c.acquire('group', { ttl: 15_000 });
  await assert.rejects(c.acquire('group', { wait: 0 }), { code: 'BUSY' });
  const [node] = c.nodes();
  assert.equal(node.deployment, 'sentinel');
  assert.match(node.server, /^127\.0\.0\.1:\d+$/);
  assert.ok(node.term >= 0);
  await lock.release();
});

test('A record of once() is on a replica, or a warning says that it is not; the body starts all the same.', async () => {
  const warnings = [];
  process.on('warning', (warning) => warnings.push(warning.message));
  const short = new Client({ nodes: [GROUP], nodeTimeout: 400 });
  const dev = (verb, node) => execFileSync(process.argv[2], ['dev', verb, node]);
  assert.equal(await short.once('recorded', { every: 60_000 }, () => 'ran'), 'ran');
  assert.equal(warnings.length, 0);
  try {
    for (const node of ['2', '3']) dev('hang', node);
    assert.equal(await short.once('unsure', { every: 60_000 }, () => 'ran'), 'ran');
    assert.match(warnings.join(), /no replica has the record of 'unsure/);
  } finally {
    for (const node of ['2', '3']) dev('resume', node);
  }
  await short.close();
});

test('The configuration of the machine may name a group.', async () => {
  const other = new Client({ nodeTimeout: 2000 });
  const lock = await other.acquire('group', { ttl: 15_000 });
  await lock.release();
  await other.close();
});

test('A URL that names one sentinel only is refused, with what to do.', () => {
  assert.throws(() => new Client({ nodes: ['sentinel://127.0.0.1/group'] }), /all its sentinels, three or more/);
});

await run();
await c.close();
