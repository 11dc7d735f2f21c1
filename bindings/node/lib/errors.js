// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const native = require('./native.js');

// What a call failed with: `code` is the library's name for it, the rest is what the nodes said.
class RedlockError extends Error {
  constructor(code, message, told = {}) {
    super(message);
    this.code = code;
    this.lock = told.lock ?? null;
    this.nodes = told.nodes ?? [];
    this.holder = told.holder ?? null;
    this.waiters = told.waiters ?? 0;
    this.quorum = told.quorum ?? null;
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

function toldError(number, told, lock) {
  const code = native.errorName(number);
  return new RedlockError(code, told?.said ?? code, { ...told, lock });
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

module.exports = { RedlockError, lastError, toldError, invalid, canceled, closed };
