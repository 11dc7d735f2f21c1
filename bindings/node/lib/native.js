// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// The addon, which install.js compiled.

try {
  module.exports = require('../build/redlock.node');
} catch (cause) {
  const why = cause.code === 'MODULE_NOT_FOUND' ? 'its addon was not compiled' : cause.message;
  throw new Error(
    `redlock-native cannot be loaded: ${why}. Run \`npm rebuild redlock-native\`; with ` +
      '`--ignore-scripts` the addon is never compiled.',
    { cause },
  );
}
