// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const { Client } = require('./client.js');
const { Lock } = require('./lock.js');
const { RedlockError } = require('./errors.js');
const { SKIPPED } = require('./once.js');
const native = require('./native.js');

module.exports = { Client, Lock, RedlockError, SKIPPED, version: native.version() };
