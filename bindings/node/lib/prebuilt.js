// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// Which of the addons that came with the package, compiled, is for this system.

const fs = require('node:fs');
const path = require('node:path');

const PT_INTERP = 3;

// 'glibc', 'musl' or 'unknown': by the loader that a program names in its ELF header.
function libcOf(program) {
  let file;
  try {
    file = fs.openSync(program, 'r');
    const read = (size, position) => {
      const bytes = Buffer.alloc(size);
      fs.readSync(file, bytes, 0, size, position);
      return bytes;
    };
    const header = read(64, 0);
    const [start, size, count] = [Number(header.readBigUInt64LE(32)), header.readUInt16LE(54), header.readUInt16LE(56)];
    for (let i = 0; i < count; i++) {
      const segment = read(size, start + i * size);
      if (segment.readUInt32LE(0) !== PT_INTERP) continue;
      const loader = read(Number(segment.readBigUInt64LE(32)), Number(segment.readBigUInt64LE(8))).toString('latin1');
      return /\/ld-musl-/.test(loader) ? 'musl' : /\/ld-linux-/.test(loader) ? 'glibc' : 'unknown';
    }
    return 'unknown';
  } catch {
    return 'unknown'; // no ELF of 64 bits, or without /proc no path to it
  } finally {
    if (file) fs.closeSync(file);
  }
}

const system = `${process.platform}-${process.arch}-${process.platform === 'linux' ? libcOf(process.execPath) : 'none'}`;

module.exports = { system, file: path.join(__dirname, '..', 'prebuilt', `${system}.node`) };
