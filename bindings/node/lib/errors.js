// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const native = require('./native.js');

// What a call failed with: `code` is the library's name for it, the rest is what the nodes replied.
class RedlockError extends Error {
  constructor(code, message, report = {}) {
    super(message);
    this.code = code;
    this.lock = report.lock ?? null;
    this.nodes = report.nodes ?? [];
    this.holder = report.holder ?? null;
    this.waiterCount = report.waiterCount ?? 0;
    this.quorum = report.quorum ?? null;
  }
}
Object.defineProperty(RedlockError.prototype, 'name', {
  value: 'RedlockError',
  writable: true,
  configurable: true,
});

// Of the call that has just failed in this thread.
function lastError(number, lock) {
  return new RedlockError(native.errorName(number), native.detail(), { lock });
}

// Of an event, whose rest is an object of native.next().
function eventError(number, rest, lock) {
  return new RedlockError(native.errorName(number), rest.detail, { ...rest, lock });
}

function invalid(message, lock) {
  return new RedlockError('INVAL', message, { lock });
}

// As the errors of Node's own functions when their signal is aborted: name and cause are theirs.
function canceled(lock, signal) {
  const error = new RedlockError('CANCELED', `the wait for '${lock}' was canceled`, { lock });
  if (signal) {
    error.name = 'AbortError';
    error.cause = signal.reason;
  }
  return error;
}

function closed(lock) {
  return new RedlockError('CLOSED', 'the client has been closed; open another', { lock });
}

// A loss that no event has reported.
function lost(lock, message, report) {
  return new RedlockError('LOST', message, { ...report, lock });
}

module.exports = { RedlockError, lastError, eventError, invalid, canceled, closed, lost };
