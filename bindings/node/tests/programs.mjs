// SPDX-License-Identifier: BSD-2-Clause
// Programs that end in every way, for ends.mjs: node programs.mjs WHICH NAME.
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Client } from 'redlock-native';

const which = isMainThread ? process.argv[2] : workerData.which;
const name = isMainThread ? process.argv[3] : workerData.name;
const TTL = 60_000; // only a release frees the lock within a test
const client = () => new Client({ nodeTimeout: 2000 });

async function collect(probe) {
  for (let i = 0; i < 500 && !probe(); i++) {
    globalThis.gc();
    await sleep(10);
  }
}

const programs = {
  // Nothing is under way any more: the loop has nothing to wait for.
  async finished() {
    const c = client();
    await c.using(name, { ttl: TTL }, () => {});
    await c.query(name);
  },
  async holding() {
    await client().acquire(name, { ttl: TTL, renew: true });
    console.log('held');
  },
  async exiting() {
    await client().using(name, { ttl: TTL }, () => process.exit(7));
  },
  async throwing() {
    await client().using(name, { ttl: TTL }, () => {
      setImmediate(() => {
        throw new Error('outside of the body');
      });
      return sleep(TTL);
    });
  },
  async waiting() {
    const c = client();
    process.on('SIGTERM', () => process.exit(3));
    await c.acquire(name, { ttl: TTL, wait: Infinity, onQueued: () => console.log('queued') });
  },
  // A lock that is forgotten.
  async forgetting() {
    const c = client();
    await (async () => {
      await c.acquire(name, { ttl: TTL, renew: true });
    })();
    await collect(() => c.stats().held === 0);
    console.log(`held ${c.stats().held}`);
  },
  // A promise that is forgotten: the grant comes when the lock is free.
  async racing() {
    const c = client();
    const first = await c.acquire(name, { ttl: TTL });
    await Promise.race([c.acquire(name, { ttl: TTL, wait: Infinity }), sleep(20)]);
    await first.release();
    await collect(() => c.stats().held === 0 && c.stats().waiting === 0);
    console.log(`held ${c.stats().held}`);
  },
  // A client that is forgotten with a lock.
  async abandoning() {
    await (async () => {
      await client().acquire(name, { ttl: TTL, renew: true });
    })();
    const c = client();
    let held = true;
    const timer = setInterval(async () => {
      held = (await c.query(name)).held;
    }, 20);
    await collect(() => !held);
    clearInterval(timer);
    console.log(`held ${held}`);
  },
  async closing() {
    const c = client();
    await c.acquire(name, { ttl: TTL });
    const waits = c.acquire(name, { wait: Infinity }).catch((error) => error.code);
    const asks = c.list().catch((error) => error.code);
    await Promise.all([c.close(), c.close()]);
    console.log(await waits, await asks, await c.acquire(name).catch((error) => error.code));
  },
  // Until it is killed.
  async hanging() {
    await client().acquire(name, { ttl: 2000, wait: TTL });
    console.log('held');
    await sleep(TTL);
  },
  // In a worker: holds a lock, waits for another one, and renews.
  async worker() {
    const c = client();
    await c.acquire(name, { ttl: TTL, renew: true });
    c.acquire(name, { ttl: TTL, wait: Infinity }).catch(() => {});
    c.list().catch(() => {});
    parentPort.postMessage('held');
    await sleep(TTL);
  },
  // In a worker: its loop stands still while another evicts it.
  async blocked() {
    await client().using(name, { ttl: 12_000 }, (signal, lock) => {
      parentPort.postMessage('held');
      const cell = new Int32Array(new SharedArrayBuffer(4));
      while (!lock.lost) Atomics.wait(cell, 0, 0, 5);
      parentPort.postMessage(`${lock.signal.aborted} ${lock.lost.message}`);
    });
  },
  async blocking() {
    const c = client();
    const worker = new Worker(new URL(import.meta.url), { workerData: { which: 'blocked', name } });
    const heard = {};
    // Messages and errors of a worker come in no order that Node promises.
    worker.on('error', (error) => (heard.error = error.code));
    worker.on('message', async (said) => {
      if (said !== 'held') heard.said = said;
      else await c.break(name, (await c.query(name)).holders[0].fingerprint);
    });
    worker.on('exit', () => console.log(`${heard.said}\n${heard.error}`));
  },
  // Workers come and go, by termination and by their own exit.
  async workers() {
    for (let i = 0; i < 4; i++) {
      const worker = new Worker(new URL(import.meta.url), {
        workerData: { which: i % 2 ? 'worker' : 'exiting', name: `${name}-${i}` },
      });
      const ended = new Promise((resolve) => worker.on('exit', resolve));
      if (i % 2) {
        await new Promise((resolve) => worker.on('message', resolve));
        await worker.terminate();
      }
      await ended;
    }
    const c = client();
    for (let i = 0; i < 4; i++) await (await c.acquire(`${name}-${i}`, { wait: 20_000 })).release();
    console.log('all free');
  },
};

await programs[which]();
