// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// One client of the library as JavaScript sees it: operations under way, and the events of what became
// of them. Nothing here refers to the objects that users have (Client, Lock): so those can be collected,
// and what they stood for is ended then.

const native = require('./native.js');
const { canceled, closed, eventError, invalid, lastError, lost } = require('./errors.js');

// enum redlock_event_type
const ACQUIRED = 0;
const EXTENDED = 1;
const RELEASED = 2;
const LOST = 3;
const JEOPARDY = 4;
const RECOVERED = 5;
const QUEUED = 6;
const ANSWERED = 7;
const WARNING = 8;

// native.number()
const REMAINING = 0;
const STATE = 1;
const FENCE = 2;
const SLOT = 3;
const MARGIN = 4;
const STATES = ['waiting', 'failed', 'adopted', 'held', 'jeopardy', 'lost', 'released'];

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
  constructor(core, request, index) {
    this.core = core;
    this.name = request.name;
    this.index = index;
    this.request = request;
    this.operation = null; // {resolve, reject} of the one that is under way
    this.onAbort = null;
    this.isAcquired = false;
    this.fence = null;
    this.loss = null; // the error
    this.controller = null; // aborted at the loss; made when it is first read
    this.releasing = null; // the promise of the release
    this.isOver = false; // the handle is gone
  }

  number(which) {
    return this.isOver ? 0 : native.number(this.core.external, this.index, which);
  }

  get state() {
    if (this.isOver) return this.loss ? 'lost' : 'released';
    return STATES[this.number(STATE)];
  }

  get remaining() {
    return this.number(REMAINING);
  }

  get slot() {
    return this.number(SLOT) || null;
  }

  get margin() {
    return this.number(MARGIN);
  }

  // Asks the library: the event still waits while the owner's code keeps the loop from running. Without an
  // event it is the clock that says so.
  get lost() {
    if (!this.loss && this.state === 'lost') {
      this.core.drain();
      this.beLost(lost(this.name, `the validity of '${this.name}' had ended`, this.report()));
    }
    return this.loss;
  }

  get signal() {
    this.controller ??= new AbortController();
    if (this.lost) this.controller.abort(this.loss);
    return this.controller.signal;
  }

  report() {
    if (this.isOver) return { nodes: [], holder: null, waiterCount: 0, quorum: null };
    return native.report(this.core.external, this.index);
  }

  // -> a promise of the operation whose start returned `number`
  begin(number) {
    if (number < 0) return Promise.reject(lastError(number, this.name));
    this.core.begin();
    return new Promise((resolve, reject) => {
      this.operation = { resolve, reject };
    });
  }

  end() {
    const { operation } = this;
    this.operation = null;
    this.core.end();
    if (this.onAbort) this.request.signal.removeEventListener('abort', this.onAbort);
    this.onAbort = null;
    return operation;
  }

  extend(ttl) {
    if (this.isOver || this.releasing) return Promise.reject(invalid(`'${this.name}' has been released`, this.name));
    return this.begin(native.extend(this.core.external, this.index, ttl));
  }

  release() {
    if (this.releasing) return this.releasing;
    if (this.isOver) return Promise.resolve();
    const number = native.release(this.core.external, this.index);
    const released = this.begin(number);
    if (number === 0) this.releasing = released;
    return released;
  }

  // For those who do not want to know what became of the release.
  giveUp() {
    this.release().catch(() => {});
  }

  // Ends an acquisition: the library takes back what was granted, and no event comes of it.
  cancel(error) {
    const { reject } = this.end();
    this.drop();
    reject(error);
  }

  // The client is closed under the lock: a loss for its owner, whose release() rejects with it.
  takeAway() {
    if (this.releasing) return;
    this.giveUp();
    this.beLost(lost(this.name, 'the client was closed while the lock was held, and has released it'));
    this.releasing = Promise.reject(this.loss);
    this.releasing.catch(() => {});
  }

  beLost(error) {
    this.loss ??= error;
    this.controller?.abort(this.loss);
  }

  onEvent(type, number, place, rest) {
    const { onQueued, onJeopardy } = this.request;
    const error = number < 0 ? eventError(number, rest, this.name) : null;
    switch (type) {
      case LOST:
        return this.beLost(error);
      case JEOPARDY:
      case RECOVERED:
        return onJeopardy && call(onJeopardy, error);
      case QUEUED:
        return call(onQueued, place);
    }
    const { resolve, reject } = this.end();
    if (type === RELEASED || (type === ACQUIRED && error)) this.drop();
    if (error) return reject(error);
    if (type === ACQUIRED) {
      this.isAcquired = true;
      this.fence = this.number(FENCE) || null; // the profile correctness gives every lock one
    }
    resolve(type === ACQUIRED ? this : this.remaining);
  }

  leave() {
    if (this.isOver || this.operation) throw invalid(`'${this.name}' is not held, or is being changed`, this.name);
    this.drop(1);
  }

  drop(leave = 0) {
    native.drop(this.core.external, this.index, leave);
    this.forget();
  }

  forget() {
    this.isOver = true;
    this.core.holds[this.index] = undefined;
    this.core.idle.push(this.index);
  }
}

class Core {
  constructor(options, onWarning) {
    this.holds = []; // by index
    this.idle = []; // indexes without a hold
    this.jobs = new Map(); // by key
    this.lastKey = 0;
    this.event = new Int32Array(new ArrayBuffer(16)); // type, error, index or key, place
    this.pending = 0; // operations and jobs: as long as there are any, the loop is kept alive
    this.isClosing = false;
    this.onIdle = null; // while closing
    this.onWarning = onWarning;
    const opened = native.open(options, this.event, () => this.drain());
    if (typeof opened === 'number') throw lastError(opened);
    this.external = opened;
    open.add(this);
  }

  begin() {
    if (this.pending++ === 0) native.keepAlive(this.external, true);
  }

  end() {
    if (--this.pending > 0) return;
    native.keepAlive(this.external, false);
    this.onIdle?.();
  }

  // -> a promise of the Hold
  acquire(request) {
    const { name, signal } = request;
    if (this.isClosing) return Promise.reject(closed(name));
    if (signal?.aborted) return Promise.reject(canceled(name, signal));
    const hold = new Hold(this, request, this.idle.pop() ?? this.holds.length);
    this.holds[hold.index] = hold;
    const acquired = hold.begin(
      native.start(
        this.external, hold.index, name, request.moreNames, request.ttl, request.wait, request.kind, request.flags,
        request.slots, request.owner, request.label, request.maxExtensions, request.maxHold,
      ),
    );
    if (!hold.operation) {
      hold.forget();
    } else if (signal) {
      hold.onAbort = () => hold.cancel(canceled(name, signal));
      signal.addEventListener('abort', hold.onAbort, { once: true });
    }
    return acquired;
  }

  // -> a promise of the answer: a report, with `info` or `names`
  startJob(what, name, fingerprint) {
    if (this.isClosing) return Promise.reject(closed(name));
    const key = (this.lastKey = (this.lastKey + 1) & 0x7fffffff);
    const number = native.startJob(this.external, key, what, name, fingerprint);
    if (number < 0) return Promise.reject(lastError(number, name));
    this.begin();
    return new Promise((resolve, reject) => {
      this.jobs.set(key, { resolve, reject, name });
    });
  }

  takeQuestion(key) {
    const job = this.jobs.get(key);
    this.jobs.delete(key);
    this.end();
    return job;
  }

  drain() {
    const { event } = this;
    for (let rest; (rest = native.next(this.external)) !== undefined; ) {
      const number = event[1];
      const key = event[2];
      if (event[0] === WARNING) {
        call(this.onWarning, rest.address, rest.detail);
      } else if (event[0] !== ANSWERED) {
        this.holds[key].onEvent(event[0], number, event[3], rest);
      } else if (this.jobs.has(key)) {
        const { resolve, reject, name } = this.takeQuestion(key);
        if (number < 0) reject(eventError(number, rest, name));
        else resolve(rest);
      }
    }
  }

  // Waits end with CANCELED and locks are released; the loop does not stand still for that.
  async close() {
    this.isClosing = true;
    for (const hold of this.holds) {
      if (hold?.isAcquired) hold.takeAway();
      else hold?.cancel(canceled(hold.name));
    }
    for (const key of this.jobs.keys()) {
      const { reject, name } = this.takeQuestion(key);
      reject(canceled(name));
    }
    if (this.pending > 0)
      await new Promise((resolve) => {
        this.onIdle = resolve;
      });
    open.delete(this);
    native.close(this.external);
    for (const hold of this.holds) if (hold) hold.isOver = true;
  }
}

module.exports = { Core };
