// SPDX-License-Identifier: BSD-2-Clause
'use strict';

// client.once(): that a body was started is recorded as `redlock run --every` does it, under the lock NAME and right
// before the start, as a lock NAME.every that expires a second after the period. A body that has not been started
// within that second does not start under this record, which is released before the lock is. The period may be
// longer than the nodes' maxTtl, so the record is acquired with the TTL of the lock and then extended, by a
// client of its own that does not trust in quarantine.

const { RedlockError, invalid } = require('./errors.js');

const SKIPPED = Symbol('redlock-native.SKIPPED');
const RECORD_SUFFIX = '.every';
const EVERY_MIN = 1000;
const EVERY_MAX = 86_400_000;
const START = 1000; // from the record to the start
const SURE = 300; // for a replica to have the record
const START_TRIES = 5; // records whose second was over before the body could start
const DEFAULT_TTL = 30_000;

// Neither clock alone: one stands still while the machine sleeps, the other is set.
function stopwatch() {
  const began = performance.now();
  const date = Date.now();
  return () => Math.max(performance.now() - began, Date.now() - date);
}

// Has a replica confirm the record: a failover of a Sentinel group forgets what none has.
async function makeSure(records, name) {
  if (!records.nodes().some((node) => node.deployment === 'sentinel' || node.deployment === 'cluster')) return;
  const elapsed = stopwatch();
  do {
    try {
      await records.replicate();
      return;
    } catch {
      // none has it yet
    }
  } while (elapsed() < SURE);
  const text = `no replica has the record of '${name}' yet: a failover may forget it, and let the body run again within the period`;
  process.emitWarning(text, 'RedlockWarning');
}

// Writes the record. False: there is one, of a body that another process has run.
async function writeRecord(records, name, ttl, recordTtl, label, lock) {
  for (let tries = 0; tries < START_TRIES; tries++) {
    let record;
    try {
      record = await records.acquire(name, { ttl: Math.min(ttl, recordTtl), label });
    } catch (error) {
      if (error.code !== 'BUSY') throw error;
      if ((await records.query(name)).held) return false;
      throw new RedlockError('NOQUORUM', 'what is left of an earlier record is on some of the nodes, and on no majority');
    }
    const elapsed = stopwatch();
    let isLeft = false;
    try {
      await record.extend(recordTtl);
      await makeSure(records, name);
      if (lock.lost) throw lock.lost;
      if (elapsed() < START) {
        record.leave();
        isLeft = true;
        return true;
      }
    } finally {
      if (!isLeft) await record.release().catch(() => {});
    }
  }
  throw new RedlockError('LOST', 'the body could not be started within a second of its record, which was taken back', {
    lock: lock.name,
  });
}

// Until the time is over, or the lock is lost.
function hold(lock, time) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    lock.signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });
}

async function once(client, openRecords, name, options, body) {
  const { every, minHold = 0, ttl = DEFAULT_TTL, wait = 0, label, ...others } = options;
  if (Object.keys(others).length > 0) throw invalid(`once() has no option '${Object.keys(others)[0]}'`);
  if (typeof name !== 'string') throw invalid('the name of once() must be a string');
  if (every !== undefined && !(every >= EVERY_MIN && every <= EVERY_MAX))
    throw invalid('every is 1000 to 86400000 milliseconds');
  if (!(minHold >= 0 && minHold <= EVERY_MAX)) throw invalid('minHold is a number of milliseconds');
  const recordName = name + RECORD_SUFFIX;
  const recordTtl = Math.min((every ?? 0) + START, EVERY_MAX);
  const records = every === undefined ? null : openRecords(recordTtl);
  let outcome = SKIPPED;
  let isElected = false;
  let isDone = false; // the lock was there to the end of the body
  try {
    // Nodes that cannot be reached are reported by the lock, which is tried next.
    if (records && (await records.query(recordName).catch(() => ({ held: false }))).held) return SKIPPED;
    await client.using(name, { ttl, wait, label }, async (signal, lock) => {
      const elapsed = stopwatch();
      isElected = true;
      if (records && !(await writeRecord(records, recordName, ttl, recordTtl, label, lock))) return;
      outcome = await body(signal, lock);
      if (elapsed() >= minHold) return;
      await lock.extend(ttl).catch((error) => {
        if (lock.lost) throw error; // anything else is no proof of a loss
      });
      isDone = true;
      await hold(lock, minHold - elapsed());
    });
  } catch (error) {
    if (!isElected && (error.code === 'BUSY' || error.code === 'TIMEOUT')) return SKIPPED;
    if (!isDone) throw error;
  } finally {
    await records?.close();
  }
  return outcome;
}

module.exports = { once, SKIPPED };
