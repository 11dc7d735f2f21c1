// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// The label of locks that are given none: user@host:pid (program), as the command `redlock` has it.

const os = require('node:os');
const path = require('node:path');

const LABEL_MAX = 64; // REDLOCK_LABEL_MAX, in bytes

// From the environment first: a directory service may take long to answer, or not at all.
function user() {
  const name = process.env.LOGNAME || process.env.USER;
  if (name) return name;
  try {
    return os.userInfo().username;
  } catch {
    return String(process.geteuid());
  }
}

// It fits: the longest part is cut, and what identifies the process, its number, never is.
function makeLabel() {
  const program = path.basename(process.argv[1] ?? process.execPath);
  const parts = [user(), os.hostname().split('.')[0], program].map((part) =>
    part.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?'),
  );
  for (;;) {
    const label = `${parts[0]}@${parts[1]}:${process.pid} (${parts[2]})`;
    if (Buffer.byteLength(label) <= LABEL_MAX) return label;
    const sizes = parts.map((part) => Buffer.byteLength(part));
    const longest = sizes.indexOf(Math.max(...sizes));
    parts[longest] = [...parts[longest]].slice(0, -1).join('');
  }
}

let made = null;

function defaultLabel() {
  return (made ??= makeLabel());
}

module.exports = { defaultLabel };
