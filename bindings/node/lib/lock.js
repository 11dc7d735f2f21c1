// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const native = require('./native.js');
const { invalid } = require('./errors.js');

const asyncDispose = Symbol.asyncDispose ?? Symbol('Symbol.asyncDispose');

// A lock that its owner has forgotten is released, and the program gets a warning.
const forgotten = new FinalizationRegistry((hold) => {
  if (hold.isOver || hold.releasing || hold.core.isClosing) return;
  if (!hold.lost)
    process.emitWarning(
      `the lock '${hold.name}' was garbage collected while it was held, and has been released; ` +
        'use client.using(), `await using`, or release() in a finally block',
      'RedlockWarning',
    );
  hold.giveUp();
});

// A lock that client.acquire() has acquired.
class Lock {
  #hold;
  #client; // not collected, and so not closed, as long as a lock of it is in use

  constructor(client, hold) {
    this.#hold = hold;
    this.#client = client;
    forgotten.register(this, hold, hold);
  }

  get name() {
    return this.#hold.name;
  }

  get client() {
    return this.#client;
  }

  get state() {
    return this.#hold.state;
  }

  get held() {
    return this.#hold.remaining > 0;
  }

  get remaining() {
    return this.#hold.remaining;
  }

  get fence() {
    return this.#hold.fence;
  }

  get slot() {
    return this.#hold.slot;
  }

  get signal() {
    return this.#hold.signal;
  }

  get lost() {
    return this.#hold.lost;
  }

  get value() {
    const hold = this.#hold;
    return hold.isOver ? null : native.value(hold.core.external, hold.index);
  }

  get margin() {
    return this.#hold.margin;
  }

  report() {
    return this.#hold.report();
  }

  async extend(ttl) {
    if (!Number.isFinite(ttl)) throw invalid(`ttl must be a number of milliseconds, not ${String(ttl)}`, this.name);
    return this.#hold.extend(Math.round(ttl));
  }

  release() {
    forgotten.unregister(this.#hold);
    return this.#hold.release();
  }

  leave() {
    forgotten.unregister(this.#hold);
    this.#hold.leave();
  }

  // The end of a block that held the lock. A loss is thrown; that too few nodes confirmed a release in time
  // is not, because the block was protected to its end and the rest of the lock expires.
  async [asyncDispose]() {
    const wasLost = this.#hold.lost;
    try {
      await this.release();
    } catch (error) {
      if (wasLost) throw wasLost;
      if (error.code !== 'NOQUORUM') throw error;
    }
  }
}

module.exports = { Lock, asyncDispose };
