// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// One client of the library as JavaScript sees it: operations under way, and the delivery of what became
// of them. Nothing here refers to the objects that users have (Client, Lock): so those can be collected,
// and what they stood for is ended then.

const native = require('./native.js');
const { canceled, closed, invalid, lastError, toldError } = require('./errors.js');

// enum event_type of src/client.h
const ACQUIRED = 0;
const EXTENDED = 1;
const RELEASED = 2;
const LOST = 3;
const JEOPARDY = 4;
const QUEUED = 5;
const ANSWER = 6;
const WARNING = 7;
const EVENT_FIELDS = 4;

const INDEX_SIZE = 2 ** 20; // native.start()
const REMAINING = 0; // native.number()
const STATE = 1;
const FENCE = 2;
const SLOT = 3;
const STATES = ['idle', 'held', 'jeopardy', 'lost', 'released'];
const FENCED = 2; // of the flags
const CANCELED = -7; // enum redlock_error

// Clients that are open, to be closed when the program ends: their locks are given up then.
const open = new Set();
process.on('exit', () => {
  for (const core of open) native.close(core.external);
});

// What a callback of the user throws is the program's own uncaught exception, and nothing of ours is
// interrupted by it.
function call(callback, ...args) {
  try {
    callback(...args);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

// An acquisition, and the lock that it became.
class Hold {
  constructor(core, request, id) {
    this.core = core;
    this.name = request.name;
    this.index = id % INDEX_SIZE;
    this.generation = Math.floor(id / INDEX_SIZE);
    this.request = request;
    this.resolve = null; // of the acquisition, while it is under way
    this.reject = null;
    this.onAbort = null;
    this.isHeld = false;
    this.fence = null;
    this.lost = null; // the error
    this.controller = null; // aborted at the loss; made when it is asked for
    this.extension = null;
    this.releasing = null; // the promise of the release
    this.settleRelease = null;
    this.isOver = false; // the handle is gone
  }

  get state() {
    if (this.isOver) return this.lost ? 'lost' : 'released';
    return STATES[native.number(this.core.external, this.index, STATE)];
  }

  get remaining() {
    return this.isOver ? 0 : native.number(this.core.external, this.index, REMAINING);
  }

  get slot() {
    return (this.isOver ? 0 : native.number(this.core.external, this.index, SLOT)) || null;
  }

  get signal() {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.lost) this.controller.abort(this.lost);
    }
    return this.controller.signal;
  }

  failure(number, ofLoss = 0) {
    return toldError(number, native.told(this.core.external, this.index, ofLoss), this.name);
  }

  extend(ttl) {
    if (this.isOver || this.releasing) return Promise.reject(invalid(`'${this.name}' has been released`, this.name));
    const number = native.extend(this.core.external, this.index, ttl);
    if (number < 0) return Promise.reject(lastError(number, this.name));
    this.core.pending++;
    return new Promise((resolve, reject) => {
      this.extension = { resolve, reject };
    });
  }

  release() {
    if (this.releasing) return this.releasing;
    if (this.isOver) return Promise.resolve();
    const number = native.release(this.core.external, this.index);
    if (number < 0) return Promise.reject(lastError(number, this.name));
    this.core.pending++;
    this.releasing = new Promise((resolve, reject) => {
      this.settleRelease = { resolve, reject };
    });
    return this.releasing;
  }

  // For those who do not want to know what became of the release.
  giveUp() {
    this.release().catch(() => {});
  }

  onAcquired(number) {
    const { resolve, reject, onAbort } = this;
    const { signal } = this.request;
    this.resolve = this.reject = this.onAbort = null;
    if (onAbort) signal.removeEventListener('abort', onAbort);
    if (number < 0) {
      const error =
        number === CANCELED && signal?.aborted
          ? canceled(this.name, signal)
          : this.failure(number);
      this.drop();
      reject(error);
      return;
    }
    this.isHeld = true;
    if (this.request.flags & FENCED) this.fence = native.number(this.core.external, this.index, FENCE);
    // The grant and the abort crossed: the caller no longer wants the lock.
    if (signal?.aborted || this.core.isClosing) {
      this.giveUp();
      reject(canceled(this.name, signal?.aborted ? signal : undefined));
      return;
    }
    resolve(this);
  }

  onExtended(number) {
    const { resolve, reject } = this.extension;
    this.extension = null;
    if (number < 0) reject(this.failure(number));
    else resolve(this.remaining);
  }

  onReleased(number) {
    const { resolve, reject } = this.settleRelease;
    if (number < 0) {
      const error = this.failure(number);
      this.drop();
      reject(error);
      return;
    }
    this.forget();
    resolve();
  }

  onLost(number) {
    this.lost = this.failure(number, 1);
    this.controller?.abort(this.lost);
  }

  onJeopardy(number) {
    const { onJeopardy } = this.request;
    if (onJeopardy) call(onJeopardy, number < 0 ? this.failure(number) : null);
  }

  drop() {
    native.drop(this.core.external, this.index);
    this.forget();
  }

  forget() {
    this.isOver = true;
    this.core.holds[this.index] = undefined;
  }
}

class Core {
  constructor(options, onWarning) {
    this.holds = []; // by index
    this.questions = new Map(); // by the key of the answer
    this.answers = [];
    this.mailbox = new Int32Array(native.mailboxEvents * EVENT_FIELDS);
    this.pending = 0; // operations on locks
    this.isClosing = false;
    this.onIdle = null; // while closing
    this.onWarning = onWarning;
    const opened = native.open(options, this.mailbox, this.answers, (count) => this.deliver(count));
    if (typeof opened === 'number') throw lastError(opened);
    this.external = opened;
    open.add(this);
  }

  // -> a promise of the Hold
  acquire(request) {
    const { name, signal } = request;
    if (this.isClosing) return Promise.reject(closed(name));
    if (signal?.aborted) return Promise.reject(canceled(name, signal));
    const id = native.start(
      this.external, name, request.moreNames, request.ttl, request.wait, request.kind, request.flags,
      request.slots, request.owner, request.label, request.maxExtensions, request.maxHold,
      request.onQueued ? 1 : 0,
    );
    if (id < 0) return Promise.reject(lastError(id, name));
    const hold = new Hold(this, request, id);
    this.holds[hold.index] = hold;
    this.pending++;
    return new Promise((resolve, reject) => {
      hold.resolve = resolve;
      hold.reject = reject;
      if (!signal) return;
      hold.onAbort = () => native.cancel(this.external, hold.index);
      signal.addEventListener('abort', hold.onAbort, { once: true });
    });
  }

  // -> a promise of the answer: a report, with `info` or `names`
  ask(what, name, mark) {
    if (this.isClosing) return Promise.reject(closed(name));
    const key = native.ask(this.external, what, name, mark);
    if (key < 0) return Promise.reject(lastError(key, name));
    return new Promise((resolve, reject) => {
      this.questions.set(key, { resolve, reject, name });
    });
  }

  deliver(count) {
    const { mailbox } = this;
    for (let i = 0; i < count * EVENT_FIELDS; i += EVENT_FIELDS) {
      const type = mailbox[i];
      const index = mailbox[i + 1];
      const code = mailbox[i + 2];
      if (type === ANSWER) {
        this.onAnswer(index, code);
      } else if (type === WARNING) {
        const { address, text } = this.takeAnswer(index);
        call(this.onWarning, address, text);
      } else {
        const hold = this.holds[index];
        if (hold && hold.generation === mailbox[i + 3]) this.tell(hold, type, code);
      }
    }
    if (this.onIdle && this.pending === 0) this.onIdle();
  }

  tell(hold, type, code) {
    switch (type) {
      case ACQUIRED:
        this.pending--;
        return hold.onAcquired(code);
      case EXTENDED:
        this.pending--;
        return hold.onExtended(code);
      case RELEASED:
        this.pending--;
        return hold.onReleased(code);
      case LOST:
        return hold.onLost(code);
      case JEOPARDY:
        return hold.onJeopardy(code);
      case QUEUED:
        return call(hold.request.onQueued, code);
    }
  }

  takeAnswer(key) {
    const answer = this.answers[key];
    delete this.answers[key];
    return answer;
  }

  onAnswer(key, code) {
    const answer = this.takeAnswer(key);
    const { resolve, reject, name } = this.questions.get(key);
    this.questions.delete(key);
    if (code < 0) reject(toldError(code, answer, name));
    else resolve(answer);
  }

  // Waits end with CANCELED and locks are released; the loop does not stand still for that.
  async close() {
    this.isClosing = true;
    for (const hold of this.holds) {
      if (!hold || hold.isOver) continue;
      if (hold.reject) native.cancel(this.external, hold.index);
      else hold.giveUp();
    }
    if (this.pending > 0)
      await new Promise((resolve) => {
        this.onIdle = resolve;
      });
    open.delete(this);
    native.close(this.external);
    for (const { reject, name } of this.questions.values()) reject(canceled(name));
    this.questions.clear();
    for (const hold of this.holds) if (hold) hold.isOver = true;
  }
}

module.exports = { Core };
