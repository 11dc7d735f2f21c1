// SPDX-License-Identifier: BSD-2-Clause
// What users of JavaScript rely on beyond the shared table: aborts at every moment, losses,
// exceptions, input. redlock dev -n 3 -- node behaviour.mjs REDLOCK
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { createRequire } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, RedlockError } from 'redlock-native';
import { codeOf, run, test, until } from './check.mjs';

const TTL = 20_000;
const command = (...args) => promisify(execFile)(process.argv[2], args);
const c = new Client({ nodeTimeout: 2000 });
const other = new Client({ nodeTimeout: 2000 });
const isFree = (name) => until(`${name} is free`, async () => !(await other.query(name)).held);
const asyncDispose = Symbol.asyncDispose ?? Object.getOwnPropertySymbols(Client.prototype)[0];

async function evict(name) {
  const { holders } = await other.query(name);
  await other.break(name, holders[0].mark);
}

// ---- using -------------------------------------------------------------------------------------

test('using() gives the value of the body and releases the lock.', async () => {
  const seen = await c.using('use', { ttl: TTL, fenced: true }, async (signal, lock) => {
    assert.equal(signal.aborted, false);
    assert.ok(lock.fence > 0 && lock.remaining > 0);
    assert.equal(await codeOf(other.acquire('use')), 'BUSY');
    return lock;
  });
  assert.equal(seen.state, 'released');
  await (await other.acquire('use')).release();
});

test('using() throws what the body throws, and the lock is released.', async () => {
  const thrown = new TypeError('mine');
  await assert.rejects(c.using('use', () => Promise.reject(thrown)), (error) => error === thrown);
  await assert.rejects(
    c.using('use', () => {
      throw thrown;
    }),
    (error) => error === thrown,
  );
  await (await other.acquire('use')).release();
});

test('A loss aborts the signal of the body with the reason.', async () => {
  const waits = c.using('lose', { ttl: 1500, wait: TTL }, async (signal) => {
    await evict('lose');
    await until('the loss', () => signal.aborted);
    signal.throwIfAborted();
  });
  await assert.rejects(waits, (error) => error instanceof RedlockError && error.code === 'LOST' && /gone from/.test(error.message));
});

test('using() tells of a loss that its body did not notice.', async () => {
  const waits = c.using('lose', { ttl: 1500, wait: TTL }, async (signal, lock) => {
    await evict('lose');
    await until('the loss', () => lock.lost);
    return 'work that was not protected';
  });
  assert.equal(await codeOf(waits), 'LOST');
});

test('A body that blocks the loop past the validity finds the lock lost.', async () => {
  const waits = c.using('block', { ttl: 800, wait: TTL }, (signal, lock) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    assert.equal(lock.remaining, 0);
    assert.equal(lock.state, 'lost');
  });
  assert.match(await codeOf(waits), /LOST|EXPIRED/);
});

test('The signal of the caller reaches the body and leaves no listener behind.', async () => {
  const controller = new AbortController();
  const waits = c.using('abort-body', { ttl: TTL, signal: controller.signal }, async (signal) => {
    controller.abort(new Error('enough'));
    signal.throwIfAborted();
  });
  await assert.rejects(waits, /enough/);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  await isFree('abort-body');
});

test('Symbol.asyncDispose releases the lock and closes the client.', async () => {
  const client = new Client({ nodeTimeout: 2000 });
  const lock = await client.acquire('dispose', { ttl: TTL });
  await lock[asyncDispose]();
  assert.equal(lock.state, 'released');
  await lock[asyncDispose]();
  const lost = await client.acquire('dispose', { ttl: TTL });
  await evict('dispose');
  assert.equal(await codeOf(lost.extend(TTL)), 'LOST');
  assert.equal(await codeOf(lost[asyncDispose]()), 'LOST');
  await client[asyncDispose]();
  assert.equal(client.closed, true);
});

// ---- aborts ------------------------------------------------------------------------------------

test('An abort at any moment of an acquisition leaves no lock behind.', async () => {
  const codes = new Set();
  for (let moment = 0; moment < 60; moment++) {
    const controller = new AbortController();
    let begin;
    const begun = new Promise((resolve) => {
      begin = resolve;
    });
    const waits = c.using('moment', { ttl: TTL, wait: TTL, signal: controller.signal }, async (signal) => {
      begin();
      while (!signal.aborted) await turn();
    });
    const outcome = codeOf(waits);
    for (let i = 0; i < moment >> 1; i++) await (moment & 1 ? turn() : null);
    if (moment >= 50) await begun;
    controller.abort();
    codes.add(await outcome);
    await until('all given back', () => c.stats().held === 0 && c.stats().waiting === 0);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  }
  assert.deepEqual([...codes].sort(), ['CANCELED', 'OK']);
  await isFree('moment');
});

test('A grant that crosses with the abort is given back.', async () => {
  // The cancellation gets lost on its way to the library, as if the grant had come first.
  const native = createRequire(createRequire(import.meta.url).resolve('redlock-native'))('./native.js');
  const { cancel } = native;
  native.cancel = () => {};
  const controller = new AbortController();
  const waits = c.acquire('cross', { ttl: TTL, signal: controller.signal });
  controller.abort();
  assert.equal(await codeOf(waits), 'CANCELED');
  native.cancel = cancel;
  await until('given back', () => c.stats().held === 0);
  assert.equal(c.stats().lostExpired, 0);
  await isFree('cross');
});

test('A wait that its signal ends is an AbortError with the cause, and leaves the queue.', async () => {
  const lock = await other.acquire('queue', { ttl: TTL });
  const signal = AbortSignal.timeout(50);
  await assert.rejects(c.acquire('queue', { wait: Infinity, signal }), (error) => {
    assert.equal(error.code, 'CANCELED');
    assert.equal(error.name, 'AbortError');
    assert.equal(error.cause.name, 'TimeoutError');
    return true;
  });
  await until('the queue is empty', async () => (await other.query('queue')).waiterCount === 0);
  assert.equal(await codeOf(c.acquire('queue', { signal: AbortSignal.abort() })), 'CANCELED');
  await lock.release();
});

// ---- ends --------------------------------------------------------------------------------------

test('A second release is the first one, and nothing is done with a released lock.', async () => {
  const lock = await c.acquire('twice', { ttl: TTL });
  await Promise.all([lock.release(), lock.release()]);
  await lock.release();
  assert.equal(await codeOf(lock.extend(TTL)), 'INVAL');
  assert.equal(lock.remaining, 0);
  assert.deepEqual(lock.report().nodes, []);
});

test('A lock that is evicted while it is released says so and aborts nothing twice.', async () => {
  const lock = await c.acquire('evict', { ttl: TTL });
  let aborts = 0;
  lock.signal.addEventListener('abort', () => aborts++);
  await evict('evict');
  assert.equal(await codeOf(lock.release()), 'EXPIRED');
  assert.ok(aborts <= 1);
});

test('What a callback throws is an uncaught exception, and the others are told all the same.', async () => {
  const lock = await other.acquire('callback', { ttl: TTL });
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve));
  const waits = c.acquire('callback', {
    ttl: TTL,
    wait: TTL,
    onQueued: () => {
      throw new Error('from the callback');
    },
  });
  assert.match((await thrown).message, /from the callback/);
  await lock.release();
  await (await waits).release();
});

test('A renewal that fails is told, and so is the one that succeeds again.', async () => {
  const hasty = new Client({ nodeTimeout: 1000 });
  const told = [];
  const lock = await hasty.acquire('jeopardy', { ttl: 8000, wait: TTL, renew: true, onJeopardy: (error) => told.push(error?.code ?? 'OK') });
  await Promise.all(['1', '2'].map((node) => command('dev', 'hang', node)));
  await until('jeopardy', () => told.length >= 1);
  await Promise.all(['1', '2'].map((node) => command('dev', 'resume', node)));
  await until('renewed', () => told.length >= 2);
  assert.deepEqual(told.slice(0, 2), ['NOQUORUM', 'OK']);
  assert.equal(lock.signal.aborted, false);
  await hasty.close(); // gives the lock up
});

test('Errors carry the stack of the caller.', async () => {
  const lock = await other.acquire('stack', { ttl: TTL });
  async function caller() {
    await c.acquire('stack');
  }
  await assert.rejects(caller, (error) => /at async caller/.test(error.stack));
  await lock.release();
});

test('Options that do not exist and values of another type are refused with a sentence.', async () => {
  for (const [options, says] of [
    [{ tll: 5 }, /no option 'tll'/],
    [{ ttl: '5s' }, /ttl must be a number/],
    [{ ttl: NaN }, /ttl must be a number/],
    [{ wait: -1 }, /wait must be/],
    [{ kind: 'rwlock' }, /kind must be one of/],
    [{ signal: {} }, /AbortSignal/],
    [{ label: 'a\0b' }, /NUL/],
    [7, /must be an object/],
  ])
    await assert.rejects(c.acquire('input', options), (error) => error.code === 'INVAL' && says.test(error.message));
  await assert.rejects(c.acquire(['a', 5]), /name must be a string/);
  await assert.rejects(c.acquire('a\0b'), /NUL/);
  await assert.rejects(c.using('a', {}), /must be a function/);
  assert.throws(() => new Client({ nodes: [] }), /empty array/);
  assert.throws(() => new Client({ nodes: 'localhost' }), /must be an array/);
  assert.throws(() => new Client({ nodes: ['localhost'], timeout: 5 }), /no option 'timeout'/);
  assert.throws(() => new Client({ quorums: [] }), /quorums must be/);
});

test('require() and import give the same classes.', () => {
  const required = createRequire(import.meta.url)('redlock-native');
  assert.equal(required.Client, Client);
});

await run();
await Promise.all([c.close(), other.close()]);
