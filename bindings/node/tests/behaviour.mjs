// SPDX-License-Identifier: BSD-2-Clause
// What users of JavaScript rely on beyond the shared table: aborts at every moment, losses,
// exceptions, input. redlock dev -c 3 -- node behaviour.mjs REDLOCK
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, RedlockError, SKIPPED } from 'redlock-native';
import { GIVE_UP_MS, codeOf, run, test, until } from './check.mjs';

const TTL = 20_000;
const command = (...args) => promisify(execFile)(process.argv[2], args);
const c = new Client({ nodeTimeout: 2000 });
const other = new Client({ nodeTimeout: 2000 });
const isFree = (name) => until(`${name} is free`, async () => !(await other.query(name)).held);
const asyncDispose = Symbol.asyncDispose ?? Object.getOwnPropertySymbols(Client.prototype)[0];

// Keeps the loop from running until the probe says true.
function block(probe) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const end = performance.now() + GIVE_UP_MS;
  while (!probe() && performance.now() < end) Atomics.wait(cell, 0, 0, 5);
}

function blockFor(ms) {
  const end = performance.now() + ms;
  block(() => performance.now() > end);
}

async function evict(name) {
  const { holders } = await other.query(name);
  await other.break(name, holders[0].fingerprint);
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

test('lead(): a leader that is deposed stands for election again, with a larger term.', async () => {
  const terms = [];
  const outcome = await c.lead('lead', { ttl: TTL }, async (signal, lock) => {
    terms.push(lock.fence);
    if (terms.length > 1) return 'resigned';
    await evict('lead');
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  });
  assert.equal(outcome, 'resigned');
  assert.ok(terms.length === 2 && terms[0] < terms[1], String(terms));
  await isFree('lead');
});

test('lead(): a loss that the body has not noticed is followed by another term.', async () => {
  const terms = [];
  await c.lead('lead', { ttl: TTL }, async (signal, lock) => {
    if (terms.push(lock.fence) === 1) await evict('lead');
  });
  assert.ok(terms.length === 2 && terms[0] < terms[1], String(terms));
});

test('lead(): what the body throws, the signal of the caller and close() end it.', async () => {
  const thrown = new TypeError('mine');
  await assert.rejects(c.lead('lead', () => Promise.reject(thrown)), (error) => error === thrown);
  const stop = new AbortController();
  const led = c.lead('lead', { signal: stop.signal }, async (signal) => {
    stop.abort();
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  });
  await assert.rejects(led, (error) => error === stop.signal.reason);
  const third = new Client({ nodeTimeout: 2000 });
  const closed = third.lead('lead', async (signal) => {
    setImmediate(() => third.close());
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  });
  assert.equal(await codeOf(closed), 'LOST');
  assert.equal(await codeOf(c.lead('lead')), 'INVAL');
  await isFree('lead');
});

test('once(): of many that call it, one runs it, and with `every` for as long as that.', async () => {
  const ran = [];
  const job = async () => ran.push(1);
  const outcomes = await Promise.all([c, other, c].map((client) => client.once('once', { every: 120_000 }, job)));
  assert.deepEqual(outcomes.map((o) => o === SKIPPED).sort(), [false, true, true]);
  assert.equal(await c.once('once', { every: 120_000 }, job), SKIPPED);
  assert.equal(ran.length, 1);
  await isFree('once');
  assert.ok((await other.query('once.every')).holder.remaining > 100_000);
  await assert.rejects(command('run', '-n', '--every', '2m', 'once', '--', 'true'), (error) => error.code === 75);
  assert.equal(await c.once('once-2', async () => 7), 7);
  assert.equal(await c.once('once-2', async () => 8), 8);
});

test('once(): what the body throws comes through, a loss under it too, and one after it does not.', async () => {
  const thrown = new TypeError('mine');
  await assert.rejects(c.once('once-3', () => Promise.reject(thrown)), (error) => error === thrown);
  for (const options of [{}, { minHold: GIVE_UP_MS }, { every: 60_000 }]) {
    const name = `once-4-${Object.keys(options)}`;
    assert.match(await codeOf(c.once(name, { ...options, ttl: TTL }, () => evict(name))), /^(LOST|EXPIRED)$/);
  }
  let held;
  const job = c.once('once-5', { minHold: GIVE_UP_MS, ttl: TTL }, async (signal, lock) => {
    held = lock;
    return 'done';
  });
  await until('the proof', async () => held && c.stats().renewed > 0);
  await evict('once-5');
  assert.equal(await job, 'done');
});

test('once(): input that means nothing is refused, and what is left of a record is no run.', async () => {
  for (const options of [{ every: 10 }, { every: 1e9 }, { minHold: -1 }, { renew: true }])
    assert.equal(await codeOf(c.once('once-6', options, () => 1)), 'INVAL');
  assert.equal(await codeOf(c.once('once-6')), 'INVAL');
  const lock = await c.acquire('once-7', { ttl: TTL });
  lock.leave();
  assert.equal(lock.state, 'released');
  assert.equal((await other.query('once-7')).held, true);
  assert.equal(await c.once('once-7', () => 1), SKIPPED);
  await evict('once-7');
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
  const waits = c.using('lose', { ttl: 3000, wait: TTL }, async (signal) => {
    await evict('lose');
    await until('the loss', () => signal.aborted);
    signal.throwIfAborted();
  });
  await assert.rejects(waits, (error) => error instanceof RedlockError && error.code === 'LOST' && /gone from/.test(error.message));
});

test('using() reports a loss that its body did not notice.', async () => {
  const waits = c.using('lose', { ttl: 3000, wait: TTL }, async (signal, lock) => {
    await evict('lose');
    await until('the loss', () => lock.lost);
    return 'work that was not protected';
  });
  assert.equal(await codeOf(waits), 'LOST');
});

test('using() waits for the lock, unless ifAvailable or a wait of 0 is given: then it tries once.', async () => {
  const lock = await other.acquire('available', { ttl: TTL });
  assert.equal(await codeOf(c.using('available', { ifAvailable: true }, () => {})), 'BUSY');
  assert.equal(await codeOf(c.using('available', { wait: 0 }, () => {})), 'BUSY');
  let waits;
  await new Promise((onQueued) => {
    waits = c.using('available', { onQueued, wait: undefined }, () => 'ran');
  });
  await lock.release();
  assert.equal(await waits, 'ran');
});

// ---- while the loop does not run ---------------------------------------------------------------

test('A body that blocks the loop for longer than the TTL keeps its lock.', async () => {
  await c.using('block', { ttl: 6000 }, (signal, lock) => {
    blockFor(6200);
    assert.equal(lock.held, true);
    assert.equal(lock.lost, null);
    assert.equal(signal.aborted, false);
  });
});

test('A body that blocks the loop past the validity finds the lock lost.', async () => {
  const waits = c.using('block', { ttl: 2000, renew: false }, (signal, lock) => {
    blockFor(2200);
    assert.equal(lock.remaining, 0);
    assert.equal(lock.held, false);
    assert.equal(lock.state, 'lost');
    assert.equal(lock.signal.aborted, true);
    assert.equal(signal.reason, lock.lost);
  });
  assert.equal(await codeOf(waits), 'LOST');
});

test('A body that blocks the loop learns of its eviction before the validity ends.', async () => {
  const waits = c.using('evicted', { ttl: 12_000 }, (signal, lock) => {
    execFileSync(process.argv[2], ['break', '--yes', 'evicted']);
    block(() => lock.lost);
    assert.equal(lock.lost.code, 'LOST');
    assert.ok(lock.lost.nodes.filter((node) => node.vote === 'MISSING').length >= 2);
    assert.equal(lock.signal.aborted, true);
    assert.ok(c.stats().lostMissing > 0);
  });
  assert.equal(await codeOf(waits), 'LOST');
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

test('close() under a body aborts its signal, and using() rejects with the loss.', async () => {
  const client = new Client({ nodeTimeout: 2000 });
  const reasons = [];
  const waits = client.using('closed', { ttl: TTL }, async (signal, lock) => {
    signal.addEventListener('abort', () => reasons.push(signal.reason.code));
    await client.close();
    assert.equal(lock.state, 'lost');
    return 'work that was not protected';
  });
  await assert.rejects(waits, (error) => error.code === 'LOST' && /closed/.test(error.message));
  assert.deepEqual(reasons, ['LOST']);
  await isFree('closed');
});

test('close() reports the loss at once, also while nodes that hang keep it from ending.', async () => {
  const client = new Client({ nodeTimeout: 2000 });
  const lock = await client.acquire('closing', { ttl: TTL });
  const { signal } = lock;
  await Promise.all(['1', '2'].map((node) => command('dev', 'hang', node)));
  let isClosed = false;
  const closes = client.close().then(() => {
    isClosed = true;
  });
  assert.equal(signal.aborted, true);
  assert.match(signal.reason.message, /closed/);
  assert.equal(await codeOf(lock.release()), 'LOST');
  assert.equal(isClosed, false);
  await Promise.all(['1', '2'].map((node) => command('dev', 'resume', node)));
  await closes;
  await isFree('closing');
});

test('close() is a loss for the owner of a lock without a body.', async () => {
  const client = new Client({ nodeTimeout: 2000 });
  const lock = await client.acquire('closed', { ttl: TTL });
  const released = await client.acquire('released', { ttl: TTL });
  const ends = released.release();
  await client.close();
  await ends;
  assert.equal(lock.signal.aborted, true);
  assert.equal(await codeOf(lock.release()), 'LOST');
  assert.equal(released.lost, null);
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
  const before = c.stats();
  const controller = new AbortController();
  const waits = c.acquire('cross', { ttl: TTL, signal: controller.signal });
  block(() => c.stats().acquired > before.acquired); // the event of the grant waits
  controller.abort();
  assert.equal(await codeOf(waits), 'CANCELED');
  await until('given back', () => c.stats().held === 0);
  assert.equal(c.stats().lostExpired, before.lostExpired);
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

// ---- labels ------------------------------------------------------------------------------------

test('A lock without a label has user@host:pid (program), and one with an empty label none.', async () => {
  await c.using('label', { ttl: TTL }, async () => {
    const { label } = (await other.query('label')).holders[0];
    assert.match(label, new RegExp(`^[^@]+@[^:]+:${process.pid} \\(behaviour.*\\)$`));
    assert.ok((await command('list')).stdout.includes(label));
  });
  await c.using('label', { ttl: TTL, label: '' }, async () => {
    assert.equal((await other.query('label')).holders[0].label, null);
  });
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

test('A lock that is evicted while it is released rejects and aborts nothing twice.', async () => {
  const lock = await c.acquire('evict', { ttl: TTL });
  let aborts = 0;
  lock.signal.addEventListener('abort', () => aborts++);
  await evict('evict');
  assert.equal(await codeOf(lock.release()), 'EXPIRED');
  assert.ok(aborts <= 1);
});

test('What a callback throws is an uncaught exception, and the others are called all the same.', async () => {
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

test('A renewal that fails is reported, and so is the one that succeeds again.', async () => {
  const hasty = new Client({ nodeTimeout: 1000 });
  const told = [];
  const lock = await hasty.acquire('jeopardy', { ttl: 20000, wait: TTL, renew: true, onJeopardy: (error) => told.push(error?.code ?? 'OK') });
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
    [{ ifAvailable: true }, /no option 'ifAvailable'/],
  ])
    await assert.rejects(c.acquire('input', options), (error) => error.code === 'INVAL' && says.test(error.message));
  await assert.rejects(c.acquire(['a', 5]), /name must be a string/);
  await assert.rejects(c.acquire('a\0b'), /NUL/);
  await assert.rejects(c.using('a', {}), /must be a function/);
  await assert.rejects(c.using('a', { ifAvailable: true, wait: 5000 }, () => {}), /leave out wait/);
  assert.throws(() => new Client({ nodes: [] }), /empty array/);
  assert.throws(() => new Client({ nodes: 'localhost' }), /must be an array/);
  assert.throws(() => new Client({ nodes: ['localhost'], timeout: 5 }), /no option 'timeout'/);
  assert.throws(() => new Client({ quorums: [] }), /quorums must be/);
});

test('No message shows a value that may be a password.', () => {
  for (const options of [
    { nodes: 'redis://:s3cret@h' },
    { nodes: [['redis://:s3cret@h']] },
    { quorums: { east: 'redis://:s3cret@h' } },
    { password: 53237 },
    { password: { s3cret: true } },
    'redis://:s3cret@h',
  ])
    assert.throws(() => new Client(options), (error) => error.code === 'INVAL' && !/s3cret|53237/.test(error.message));
});

test('A name with half of a surrogate pair is refused, because another one would be the same lock.', async () => {
  for (const name of ['\ud800', 'a\udc00b', ['well', '\ud801']])
    await assert.rejects(c.acquire(name), (error) => error.code === 'INVAL' && /surrogate/.test(error.message));
  await assert.rejects(c.query('\ud800'), /surrogate/);
  await (await c.acquire('\u{1f512}', { ttl: TTL })).release();
});

test('A warning while the client is opened reaches onWarning.', async () => {
  const configFile = join(mkdtempSync(join(tmpdir(), 'redlock-')), 'redlock.conf');
  writeFileSync(configFile, 'nodes = redis://:s3cret@127.0.0.1:1\n', { mode: 0o644 });
  const told = [];
  const client = new Client({ configFile, onWarning: (address, text) => told.push(text) });
  await codeOf(client.ping());
  assert.match(told.join(), /others can read/);
  await client.close();
  rmSync(dirname(configFile), { recursive: true });
});

// One command to every server, outside of the library.
async function tellServers(...words) {
  for (const url of process.env.REDLOCK_NODES.split(',')) {
    const { hostname: host, port } = new URL(url.includes('://') ? url : `redis://${url}`);
    const text = `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
    const socket = connect({ host, port: Number(port) });
    socket.write(text);
    await once(socket, 'data');
    socket.destroy();
  }
}

test('A lock outlives the rotation of its password, from a file and from a command.', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'redlock-'));
  const passwordFile = join(directory, 'password');
  const passwordCommand = join(directory, 'command');
  writeFileSync(passwordCommand, `#!/bin/sh\ncat ${passwordFile}\n`, { mode: 0o700 });
  for (const options of [{ passwordFile }, { passwordCommand, passwordMaxAge: 60_000 }]) {
    writeFileSync(passwordFile, 'old\n', { mode: 0o600 });
    await tellServers('ACL', 'SETUSER', 'friend', 'reset', 'on', '>old', '~redlock*', '&redlock*', '+@all');
    const client = new Client({ username: 'friend', nodeTimeout: 2000, ...options });
    const lock = await client.acquire('rotation', { ttl: TTL });
    writeFileSync(passwordFile, 'new\n');
    await tellServers('ACL', 'SETUSER', 'friend', 'resetpass', '>new');
    await tellServers('CLIENT', 'KILL', 'USER', 'friend');
    // Connections that were ended are not made again yet: NOQUORUM.
    await until('new logins', () => lock.extend(TTL + 5000).then(() => true, (error) => error.code !== 'NOQUORUM' && Promise.reject(error)));
    assert.ok(lock.remaining > TTL);
    await lock.release();
    await client.close();
  }
  rmSync(directory, { recursive: true });
});

test('The profile correctness gives every lock a token and refuses kinds without one.', async () => {
  const client = new Client({ profile: 'correctness', nodeTimeout: 2000 });
  const lock = await client.acquire('correct', { ttl: TTL });
  assert.ok(lock.fence > 0);
  await lock.release();
  await assert.rejects(client.acquire('correct', { kind: 'shared' }), /no fencing token: use a mutex/);
  await client.close();
  assert.throws(() => new Client({ profile: 'speed' }), /neither efficiency nor correctness/);
});

test('Nodes have the reason for which they do not answer.', async () => {
  const client = new Client({ nodes: ['127.0.0.1:1'] });
  await assert.rejects(client.ping(), (error) => error.nodes[0].reason === 'REFUSED');
  const [node] = client.nodes();
  assert.deepEqual([node.state, node.reason, node.misplaced], ['down', 'REFUSED', false]);
  await client.close();
  for (const { reason, misplaced } of c.nodes()) assert.deepEqual([reason, misplaced], [null, false]);
});

test('require() and import give the same classes.', () => {
  const required = createRequire(import.meta.url)('redlock-native');
  assert.equal(required.Client, Client);
});

await run();
await Promise.all([c.close(), other.close()]);
