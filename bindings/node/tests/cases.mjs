// SPDX-License-Identifier: BSD-2-Clause
// Plays a group of bindings/cases/cases.json: node cases.mjs CASES REDLOCK GROUP [CASE].
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, RedlockError } from 'redlock-native';
import { GIVE_UP_MS, until } from './check.mjs';

const [table, command, group, only] = process.argv.slice(2);
const run = promisify(execFile);

class Failed extends Error {}

// What became of a promise, as the library would return it.
async function outcomeOf(promise) {
  const late = new AbortController();
  const timer = sleep(GIVE_UP_MS, undefined, { signal: late.signal }).then(
    () => Promise.reject(new Failed('no outcome')),
    () => {},
  );
  try {
    return { code: 'OK', said: '', value: await Promise.race([promise, timer.then(() => promise)]) };
  } catch (error) {
    if (!(error instanceof RedlockError)) throw error;
    const { code, message, nodes, holder } = error;
    return { code, said: message, nodes, holder, text: JSON.stringify(error) + error.stack };
  } finally {
    late.abort();
  }
}

function matches(step, outcome) {
  const votes = outcome.nodes ?? [];
  return (
    (step.expect ?? 'OK') === outcome.code &&
    outcome.said.includes(step.says ?? '') &&
    !(step.never_says && outcome.text?.includes(step.never_says)) &&
    Object.entries(step.votes ?? {}).every(
      ([vote, least]) => votes.filter((node) => node.vote === vote).length >= least,
    ) &&
    (!('label_in_the_way' in step) || outcome.holder?.label === step.label_in_the_way)
  );
}

function expectOutcome(step, outcome) {
  if (matches(step, outcome)) return;
  const votes = (outcome.nodes ?? []).map((node) => node.vote).join(' ');
  throw new Failed(`came ${outcome.code}, nodes said ${votes}, in the way ${outcome.holder?.label}: ${outcome.said}`);
}

function requestOf(step, signal) {
  const { kind, slots, owner, renew, fenced, fair, label } = step;
  return {
    kind, slots, owner, renew, fenced, fair, label, signal,
    ttl: step.ttl_ms ?? 20_000,
    wait: step.wait_ms,
    maxExtensions: step.max_extensions,
    maxHold: step.max_hold_ms,
  };
}

const REQUEST =
  'client lock name ttl_ms kind slots owner more_names wait_ms renew fenced fair label max_extensions ' +
  'max_hold_ms expect says votes label_in_the_way';

async function finish(world, step) {
  const entry = world.locks[step.lock];
  const outcome = await outcomeOf(entry.promise);
  if (outcome.code === 'OK') {
    entry.lock = outcome.value;
    outcome.nodes = entry.lock.report().nodes;
  }
  expectOutcome(step, outcome);
}

function begin(world, step) {
  const controller = new AbortController();
  const name = step.more_names ? [step.name, ...step.more_names] : step.name;
  const promise = world.clients[step.client].acquire(name, requestOf(step, controller.signal));
  promise.catch(() => {}); // looked at by a later step
  world.locks[step.lock] = { controller, promise, lock: null };
}

async function onLock(world, step, act) {
  const { lock } = world.locks[step.lock];
  const outcome = await outcomeOf(act(lock));
  if (outcome.code === 'OK') outcome.nodes = lock.report().nodes;
  expectOutcome(step, outcome);
}

async function onNode(world, step, what) {
  await run(command, ['dev', what, String(step.node)]);
}

// Every kind of step with the fields that it may have.
const steps = {
  client: ['client prefix node_timeout_ms nodes expect says never_says', async (world, step) => {
    const { prefix, nodes, node_timeout_ms: nodeTimeout = 2000 } = step;
    const outcome = await outcomeOf((async () => new Client({ prefix, nodes, nodeTimeout }))());
    if (outcome.code === 'OK') world.clients[step.client] = outcome.value;
    expectOutcome(step, outcome);
  }],
  close: ['client', (world, step) => world.clients[step.client].close()],
  ping: ['client expect votes', async (world, step) => {
    let outcome;
    await until(() => `answered as expected, but ${outcome.code}`, async () => {
      outcome = await outcomeOf(world.clients[step.client].ping());
      outcome.nodes ??= outcome.value.nodes;
      return matches(step, outcome);
    });
  }],
  quorum_of: ['client name is', (world, step) => {
    const is = world.clients[step.client].quorumOf(step.name);
    if (is !== step.is) throw new Failed(`it is in quorum ${is}`);
  }],
  acquire: [REQUEST, (world, step) => {
    begin(world, step);
    return finish(world, step);
  }],
  start: [REQUEST, begin],
  outcome: ['lock expect says', finish],
  cancel: ['lock', (world, step) => world.locks[step.lock].controller.abort()],
  extend: ['lock ttl_ms expect says votes', (world, step) => onLock(world, step, (lock) => lock.extend(step.ttl_ms))],
  release: ['lock expect says votes', (world, step) => onLock(world, step, (lock) => lock.release())],
  state: ['lock is', (world, step) => {
    const { lock } = world.locks[step.lock];
    return until(() => `${step.is}, but ${lock.state}`, () => lock.state === step.is);
  }],
  lost: ['lock says', async (world, step) => {
    const { lock } = world.locks[step.lock];
    await until(() => `aborted, but ${lock.state}`, () => lock.signal.aborted);
    const { code, message } = lock.signal.reason;
    if (code !== 'LOST' || !message.includes(step.says ?? '')) throw new Failed(`lost: ${code}: ${message}`);
  }],
  remaining: ['lock from_ms to_ms', (world, step) => {
    const { remaining } = world.locks[step.lock].lock;
    if (remaining < step.from_ms || remaining > step.to_ms) throw new Failed(`${remaining} ms remain`);
  }],
  fences: ['locks', (world, step) => {
    let last = 0;
    for (const name of step.locks) {
      const { fence } = world.locks[name].lock;
      if (!(fence > last)) throw new Failed(`token ${fence} of ${name} after ${last}`);
      last = fence;
    }
  }],
  no_fence: ['lock', (world, step) => {
    const { fence } = world.locks[step.lock].lock;
    if (fence !== null) throw new Failed(`it has the token ${fence}`);
  }],
  slots: ['locks of', (world, step) => {
    const slots = step.locks.map((name) => world.locks[name].lock.slot);
    const known = slots.every((slot) => slot >= 1 && slot <= step.of);
    if (!known || new Set(slots).size !== slots.length) throw new Failed(`slots ${slots}`);
  }],
  query: ['client name expect says held kind label holders waiters slots owner keep_mark', async (world, step) => {
    const { held, kind, label, slots, owner, holders, waiters } = step;
    const wanted = { held, kind, slots, owner, holderCount: holders, waiterCount: waiters };
    let outcome;
    await until(() => `as expected, but ${JSON.stringify(outcome.value)}`, async () => {
      outcome = await outcomeOf(world.clients[step.client].query(step.name));
      if (outcome.code !== 'OK') return true;
      if (label !== undefined && outcome.value.holder?.label !== label) return false;
      return Object.entries(wanted).every(([key, is]) => is === undefined || outcome.value[key] === is);
    });
    expectOutcome(step, outcome);
    if (step.keep_mark) world.marks[step.keep_mark] = outcome.value.holders[0].fingerprint;
  }],
  list: ['client has lacks', async (world, step) => {
    let names;
    await until(() => `as expected, but ${names.join(', ')}`, async () => {
      names = await world.clients[step.client].list();
      return step.has.every((name) => names.includes(name)) && !step.lacks.some((name) => names.includes(name));
    });
  }],
  break: ['client name mark literal_mark label expect', async (world, step) => {
    const mark = step.literal_mark ?? world.marks[step.mark];
    const outcome = await outcomeOf(world.clients[step.client].break(step.name, mark));
    expectOutcome(step, outcome);
    if (step.label && outcome.value.holder.label !== step.label) throw new Failed(`evicted was ${outcome.value.holder.label}`);
  }],
  kill: ['node', (world, step) => onNode(world, step, 'kill')],
  restart: ['node', (world, step) => onNode(world, step, 'start')],
  hang: ['node', (world, step) => onNode(world, step, 'hang')],
  resume: ['node', (world, step) => onNode(world, step, 'resume')],
  admit: ['', () => run(command, ['init', '--yes', '--force', '--node-timeout', '5s'])],
  pass: ['ms', (world, step) => sleep(step.ms)],
};

async function play(step, world) {
  const [fields, act] = steps[step.do] ?? [];
  if (!act) throw new Failed(`this runner does not know the step '${step.do}'`);
  for (const field in step)
    if (field !== 'do' && !fields.split(' ').includes(field)) throw new Failed(`this runner does not know the field '${field}'`);
  await act(world, step);
}

async function playCase({ name, intent, steps: list }) {
  const world = { clients: {}, locks: {}, marks: {} };
  let at = 0;
  try {
    for (; at < list.length; at++) await play(list[at], world);
    console.log(`ok - ${intent}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok - ${intent}\n#   ${name}, step ${at + 1}: ${JSON.stringify(list[at])}`);
    console.log(`#   ${error instanceof Failed ? error.message : error.stack}`);
  }
  for (const client of Object.values(world.clients)) await client.close();
}

const { groups } = JSON.parse(readFileSync(table, 'utf8'));
if (!groups[group]) throw new Error(`${table}: no group '${group}'`);
for (const one of groups[group]) if (!only || one.name === only) await playCase(one);
