// SPDX-License-Identifier: BSD-2-Clause
// Programs and workers that end in every way, with locks held: redlock dev -c 3 -- node ends.mjs
import assert from 'node:assert/strict';
import { Client } from 'redlock-native';
import { program, run, test, until } from './check.mjs';

const TTL = 20_000;
const c = new Client({ nodeTimeout: 2000 });
const isFree = (name) => until(`${name} is free`, async () => !(await c.query(name)).held);

async function ends(which, status, says = /^$/, flags = []) {
  const name = `program-${which}`;
  const ended = await program([which, name], { flags });
  assert.equal(ended.status, status, ended.err);
  assert.match(ended.out + ended.err, says);
  await isFree(name);
}

test('A finished program ends by itself with its client open.', () => ends('finished', 0));
test('A held lock keeps no program alive, and is released when it ends.', () => ends('holding', 0, /^held\n$/));
test('process.exit() inside a body releases the lock.', () => ends('exiting', 7));
test('An uncaught exception releases the lock.', () => ends('throwing', 1, /outside of the body/));
test('close() with locks held and waits under way ends all of them.', () => ends('closing', 0, /^CANCELED (CANCELED|\[.*\]) CLOSED\n$/));
test('A garbage collected lock is released, with a warning.', () => ends('forgetting', 0, /^held 0\n.*RedlockWarning.*'program-forgetting' was garbage/, ['--expose-gc']));
test('A grant that no caller awaits any more is released.', () => ends('racing', 0, /^held 0\n.*RedlockWarning/, ['--expose-gc']));
test('A garbage collected client gives its locks up.', () => ends('abandoning', 0, /^held false\n/, ['--expose-gc']));
test('Workers with locks held end without a crash, and their locks are free.', () => ends('workers', 0, /^all free\n$/));

test('A worker whose loop stands still learns of its eviction.', () => ends('blocking', 0, /^true .*gone from.*\nLOST\n$/));

test('A waiter that exits leaves the queue.', async () => {
  const lock = await c.acquire('program-waiting', { ttl: TTL });
  const ended = await program(['waiting', 'program-waiting'], { tell: (line, child) => child.kill('SIGTERM') });
  assert.equal(ended.status, 3, ended.err);
  await until('the queue is empty', async () => (await c.query('program-waiting')).waiterCount === 0);
  await lock.release();
});

test('The lock of a killed process is free when its TTL has passed.', async () => {
  const ended = await program(['hanging', 'program-hanging'], { tell: (line, child) => child.kill('SIGKILL') });
  assert.equal(ended.signal, 'SIGKILL');
  const lock = await c.acquire('program-hanging', { wait: TTL });
  await lock.release();
});

await run();
await c.close();
