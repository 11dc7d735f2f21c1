// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const native = require('./native.js');
const { Core } = require('./core.js');
const { Lock, asyncDispose } = require('./lock.js');
const { canceled, closed, invalid, lastError } = require('./errors.js');
const { once } = require('./once.js');
const { readRequest, readClientOptions, checkText, option } = require('./request.js');

const RECORDS_MAX_TTL = 60_000; // of once(): at least
const QUERY = 0; // native.startJob()
const BREAK = 1;
const LIST = 2;
const PING = 3;
const REPLICATE = 4;

function warn(address, text) {
  process.emitWarning(`${address}: ${text}`, 'RedlockWarning');
}

const forgotten = new FinalizationRegistry((core) => {
  if (!core.isClosing) core.close();
});

// Runs `body` with a signal that is aborted when one of both is.
async function withEither(first, second, body) {
  if (!second) return body(first);
  const controller = new AbortController();
  const onFirst = () => controller.abort(first.reason);
  const onSecond = () => controller.abort(second.reason);
  first.addEventListener('abort', onFirst, { once: true });
  second.addEventListener('abort', onSecond, { once: true });
  if (first.aborted) onFirst();
  try {
    return await body(controller.signal);
  } finally {
    first.removeEventListener('abort', onFirst);
    second.removeEventListener('abort', onSecond);
  }
}

class Client {
  #core;
  #options;
  #closing = null;

  constructor(options) {
    const read = readClientOptions(options);
    this.#options = { ...options };
    this.#core = new Core(read, option(options ?? {}, 'onWarning', 'function', warn));
    forgotten.register(this, this.#core, this.#core);
  }

  acquire(name, options) {
    return this.#acquire(name, options, false);
  }

  async using(name, options, body) {
    if (typeof options === 'function' && body === undefined) [options, body] = [{}, options];
    if (typeof body !== 'function') throw invalid('the last argument of using() must be a function');
    const lock = await this.#acquire(name, options, true);
    const { signal } = options ?? {};
    let value;
    try {
      if (signal?.aborted) throw canceled(lock.name, signal);
      value = await withEither(lock.signal, signal, (either) => body(either, lock));
    } catch (error) {
      await lock.release().catch(() => {});
      throw error;
    }
    await lock[asyncDispose]();
    return value;
  }

  async lead(name, options, body) {
    if (typeof options === 'function' && body === undefined) [options, body] = [{}, options];
    if (typeof body !== 'function') throw invalid('the last argument of lead() must be a function');
    for (;;) {
      let term = null;
      try {
        return await this.using(name, { ...options, fenced: true }, (signal, lock) => body(signal, (term = lock)));
      } catch (error) {
        // However the body ended: a term that was lost is followed by another one.
        const wasLost = term?.lost || (term && error.code === 'EXPIRED' && error.lock === name);
        if (!wasLost || options?.signal?.aborted || this.closed) throw error;
      }
    }
  }

  async once(name, options, body) {
    if (typeof options === 'function' && body === undefined) [options, body] = [{}, options];
    if (typeof body !== 'function') throw invalid('the last argument of once() must be a function');
    this.#check();
    // The same nodes, longer times, no quarantine; the client of the lock reports the warnings.
    const open = (ttl) =>
      new Client({
        ...this.#options,
        noGuard: true,
        onWarning: () => {},
        maxTtl: Math.max(this.#options.maxTtl ?? 0, ttl, RECORDS_MAX_TTL),
      });
    return once(this, open, name, options ?? {}, body);
  }

  async query(name) {
    const { info, nodes, quorum } = await this.#core.startJob(QUERY, checkText(name, 'name'));
    return { ...info, nodes, quorum };
  }

  async list() {
    return (await this.#core.startJob(LIST)).names;
  }

  async break(name, fingerprint) {
    checkText(fingerprint, 'fingerprint');
    const { nodes, holder, quorum } = await this.#core.startJob(BREAK, checkText(name, 'name'), fingerprint);
    return { nodes, holder, quorum };
  }

  async ping() {
    const { nodes, quorum } = await this.#core.startJob(PING);
    return { nodes, quorum };
  }

  async replicate() {
    const { nodes, quorum } = await this.#core.startJob(REPLICATE);
    return { nodes, quorum };
  }

  nodes() {
    this.#check();
    return native.nodes(this.#core.external);
  }

  stats() {
    this.#check();
    return native.stats(this.#core.external);
  }

  quorumOf(name) {
    this.#check();
    const index = native.quorumOf(this.#core.external, checkText(name, 'name'));
    if (index < 0) throw lastError(index, name);
    return index;
  }

  get closed() {
    return this.#core.isClosing;
  }

  close() {
    forgotten.unregister(this.#core);
    return (this.#closing ??= this.#core.close());
  }

  async [asyncDispose]() {
    await this.close();
  }

  async #acquire(name, options, hasBody) {
    try {
      return new Lock(this, await this.#core.acquire(readRequest(name, options, hasBody)));
    } catch (error) {
      Error.captureStackTrace(error); // it was made where the event came in; the caller's stack helps more
      throw error;
    }
  }

  #check() {
    if (this.#core.isClosing) throw closed();
  }
}

module.exports = { Client };
