// SPDX-License-Identifier: BSD-2-Clause
// What the tests share: named tests one after the other, bounded waits, and programs as children.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const GIVE_UP_MS = 30_000;
const tests = [];

export function test(intent, body) {
  tests.push({ intent, body });
}

// Runs them all. A rejection that no handler took fails the test that it happened in.
export async function run() {
  let stray = null;
  process.on('unhandledRejection', (error) => {
    stray = error;
  });
  for (const { intent, body } of tests) {
    const timer = setTimeout(() => {
      console.log(`not ok - ${intent}\n#   no end after ${2 * GIVE_UP_MS} ms`);
      process.exit(1);
    }, 2 * GIVE_UP_MS);
    try {
      await body();
      await sleep(0);
      if (stray) throw stray;
      console.log(`ok - ${intent}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`not ok - ${intent}\n#   ${error.stack}`);
    }
    stray = null;
    clearTimeout(timer);
  }
}

// `what` is a text, or a function that makes it of what was seen last.
export async function until(what, probe) {
  const end = performance.now() + GIVE_UP_MS;
  for (let value; ; await sleep(5)) {
    value = await probe();
    if (value) return value;
    if (performance.now() > end) throw new Error(`never: ${typeof what === 'function' ? what() : what}`);
  }
}

export async function codeOf(promise) {
  try {
    await promise;
    return 'OK';
  } catch (error) {
    return error.code ?? error.message;
  }
}

// Ends when the program does: {status, signal, out, err}. `tell` gets every line that it prints.
export function program(args, { flags = [], tell = () => {}, file = './programs.mjs' } = {}) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [...flags, path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const seen = { out: '', err: '' };
  let rest = '';
  child.stdout.on('data', (data) => {
    seen.out += data;
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    for (const line of lines) tell(line, child);
  });
  child.stderr.on('data', (data) => {
    seen.err += data;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), GIVE_UP_MS);
  return new Promise((resolve) => {
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      resolve({ status, signal, ...seen });
    });
  });
}
