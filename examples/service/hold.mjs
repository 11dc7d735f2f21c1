#!/usr/bin/env node
// SPDX-License-Identifier: BSD-2-Clause
// hold.mjs URL COMMAND...: runs COMMAND while it holds the lock URL (http://HOST:PORT/v1/locks/NAME) of redlockd.
// The status is that of COMMAND; 75: not acquired; 76: lost, and COMMAND was killed. TOKEN is the bearer token.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const [url, command, ...args] = process.argv.slice(2);
const ttl = Number(process.env.TTL_MS ?? 30_000);
const headers = {
  'Lease-Id': randomBytes(16).toString('hex'),
  'Content-Type': 'application/json',
  Authorization: `Bearer ${process.env.TOKEN ?? ''}`,
};
// Milliseconds that have passed, or more: from one look to the next the larger of the monotonic clock, which stands
// still in suspend, and the wall clock, which can be set back.
const clocks = { mono: performance.now(), wall: Date.now(), passed: 0 };
function now() {
  const mono = performance.now(), wall = Date.now();
  clocks.passed += Math.max(mono - clocks.mono, wall - clocks.wall);
  Object.assign(clocks, { mono, wall });
  return clocks.passed;
}

// What was answered, with its deadline; {} if nothing was in time, or by something that is not redlockd.
async function ask(limit, method, body) {
  const sent = now();
  let reply;
  const answer = fetch(url, { method, headers, body }).then((response) => response.json());
  const come = answer.then((value) => (reply = value), () => (reply = {}));
  // Short timers, which stand still in suspend, and no AbortSignal: fetch of Node 18 may forget its signal.
  while (!reply && now() < sent + limit) await Promise.race([come, sleep(50)]);
  return reply ? { ...reply, until: sent + reply.after_ms + reply.remaining_ms } : {}; // from the sending
}

let renewAt = now() + ttl / 3;
let held = await ask(60_000, 'PUT', JSON.stringify({ ttl_ms: ttl, wait_ms: 20_000, fenced: true, label: 'hold.mjs' }));
if (!held.grant) {
  console.error('hold.mjs:', held.detail ?? 'no answer');
  await ask(10_000, 'DELETE'); // refused, or granted in an answer that was lost: this id is not used again
  process.exit(75);
}
headers.Grant = held.grant;
const env = { ...process.env, FENCE: String(held.fence) }; // the resource of COMMAND refuses a smaller one
const work = spawn(command, args, { stdio: 'inherit', detached: true, env });
const ended = new Promise((resolve) => work.on('exit', resolve).on('error', () => resolve(127)));
let status;
ended.then((code) => (status = code ?? 137));

for (; status === undefined; await Promise.race([sleep(50), ended])) {
  let reply = {};
  if (now() >= renewAt && now() < held.until - 100) {
    renewAt = now() + ttl / 20; // 503, another's answer or none: the old deadline stands, request again
    reply = await ask(held.until - 100 - now(), 'POST', JSON.stringify({ ttl_ms: ttl }));
    if (reply.grant) [held, renewAt] = [reply, now() + ttl / 3];
  }
  if (now() < held.until - 100 && !['LOST', 'EXPIRED', 'ENDED'].includes(reply.code)) continue;
  process.kill(-work.pid, 'SIGKILL'); // no SIGTERM: the deadline is near
  console.error('hold.mjs: lost:', reply.detail ?? 'no answer before the deadline');
  process.exit(76);
}
await ask(10_000, 'DELETE');
process.exit(status);
