// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// The addon: what install.js compiled here, else what came compiled with the package, which needs no install script.

const fs = require('node:fs');
const path = require('node:path');
const prebuilt = require('./prebuilt.js');

const compiled = path.join(__dirname, '..', 'build', 'redlock.node');
try {
  module.exports = require(fs.existsSync(compiled) ? compiled : prebuilt.file);
} catch (cause) {
  const why =
    cause.code === 'MODULE_NOT_FOUND' ? `no addon came with it for ${prebuilt.system}, or was compiled` : cause.message;
  throw new Error(
    `redlock-native cannot be loaded: ${why}. Run \`npm rebuild redlock-native\`; with ` +
      '`--ignore-scripts` the addon is never compiled.',
    { cause },
  );
}
