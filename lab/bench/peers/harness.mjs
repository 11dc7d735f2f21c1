// SPDX-License-Identifier: BSD-2-Clause
// What all drivers in JavaScript share: arguments, the protocol with run.py, the callers' loop.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

export const TTL_MS = 10000; // of every lock, as ours
const WARM_SECONDS = 0.3; // before the measurement: connections, scripts, compiled code
const STUCK_MS = 5000; // a call that takes longer counts as one that never returns

export const { values: options } = parseArgs({
  options: {
    nodes: { type: 'string' },
    workload: { type: 'string' },
    callers: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '1' },
    'retry-ms': { type: 'string' }, // between attempts; the peer's default where absent
    'auto-pipelining': { type: 'boolean', default: false },
    fair: { type: 'boolean', default: false }, // ours only
    'client-each': { type: 'boolean', default: false }, // a client and its connections per caller
  },
});

// Packages are not beside this file but where run.py installed them.
export const load = createRequire(`${process.env.PEERS_DIR}/`);

export function connectAll() {
  const { Redis } = load('ioredis');
  return options.nodes.split(',').map((node) => {
    const [host, port] = node.split(':');
    const redis = new Redis({
      host,
      port: Number(port),
      enableAutoPipelining: options['auto-pipelining'],
    });
    redis.on('error', () => {}); // the lock's outcome has it
    return redis;
  });
}

const processId = process.pid; // asked once: it is a system call
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// What one run of all callers counts. `open` is per caller: what it awaits, and since when.
class Tally {
  constructor(callers, workload) {
    this.workload = workload;
    this.over = false;
    this.failures = 0;
    this.done = new Array(callers).fill(0);
    this.took = [];
    this.open = new Array(callers).fill(null);
  }
}

async function callerLoop(client, number, tally) {
  for (let serial = 0; !tally.over; serial++) {
    const name =
      tally.workload === 'one_name'
        ? `bench-${processId}`
        : `bench-${processId}-${tally.workload}-${number}-${serial}`;
    const started = performance.now();
    try {
      tally.open[number] = { call: 'acquire', since: started };
      const lock = await client.acquire(name);
      if (!tally.over || tally.workload === 'hung')
        tally.took.push((performance.now() - started) * 1000);
      tally.open[number] = { call: 'release', since: performance.now() };
      await client.release(lock);
      if (!tally.over) tally.done[number]++;
    } catch {
      tally.failures++;
      await sleep(0); // others get their turn, whatever failed
    } finally {
      tally.open[number] = null;
    }
  }
}

// Runs all callers for so long. A caller that is still waiting then is left alone, except where that is
// what was asked: with a node hung, a call gets STUCK_MS to return.
async function runFor(clients, seconds, workload) {
  const tally = new Tally(clients.length, workload);
  const cpu = process.cpuUsage();
  const started = performance.now();
  const loops = clients.map((client, number) => callerLoop(client, number, tally));
  await sleep(seconds * 1000);
  const took = (performance.now() - started) / 1000;
  const used = process.cpuUsage(cpu);
  tally.over = true;
  let stuck = null;
  if (workload === 'warm') await Promise.all(loops);
  if (workload === 'hung' && tally.open[0]) {
    const left = STUCK_MS - (performance.now() - tally.open[0].since);
    const { call } = tally.open[0];
    const ended = await Promise.race([loops[0].then(() => true), sleep(left)]);
    if (!ended) stuck = call;
  }
  return { tally, seconds: took, cpu_us: used.user + used.system, stuck };
}

function quantile(sorted, q) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] : null;
}

function result({ tally, seconds, cpu_us, stuck }) {
  const cycles = tally.done.reduce((a, b) => a + b, 0);
  const sorted = Float64Array.from(tally.took).sort();
  return {
    cycles,
    least: Math.min(...tally.done),
    most: Math.max(...tally.done),
    failures: tally.failures,
    seconds,
    p50_us: quantile(sorted, 0.5),
    p99_us: quantile(sorted, 0.99),
    client_us: cpu_us / Math.max(1, cycles),
    stuck,
  };
}

// openClient() gives an object with acquire(name), which resolves to a lock or rejects, and
// release(lock).
export async function drive(openClient) {
  const callers = Number(options.callers);
  const shared = options['client-each'] ? null : openClient();
  const clients = Array.from({ length: callers }, () => shared ?? openClient());
  await runFor(clients, WARM_SECONDS, 'warm');
  const lines = createInterface({ input: process.stdin });
  console.log('ready');
  for await (const _ of lines) break;
  const run = await runFor(clients, Number(options.seconds), options.workload);
  console.log(JSON.stringify(result(run)));
  process.exit(0);
}
