// SPDX-License-Identifier: BSD-2-Clause
// The package of Node in a bare system: node use.mjs CHECK. Nodes: PLAIN_NODES, SECURE_NODES (with TLS).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';

const ca = new URL('./ca.pem', import.meta.url);

async function lock(name, nodes, more = {}, wait = 60_000) {
  const { Client } = await import('redlock-native');
  const client = new Client({ nodes: nodes.split(','), nodeTimeout: 10000, ...more });
  try {
    const held = await client.acquire(name, { wait });
    assert.equal(held.state, 'held');
    await held.release();
  } finally {
    await client.close();
  }
}
const lockSecurely = (name) => lock(name, process.env.SECURE_NODES, { tlsCaFile: fileURLToPath(ca) });

// A server and its client, with the OpenSSL of Node.
async function requestOverOwnTls(port) {
  const request = https.get({ port, host: '127.0.0.1', ca: fs.readFileSync(ca) });
  const [response] = await once(request, 'response');
  let text = '';
  for await (const part of response) text += part;
  assert.equal(text, 'own');
}

const checks = {
  plain: () => lock('plain', process.env.PLAIN_NODES),
  secure: () => lockSecurely('secure'),
  // The certificates of the system.
  trusted: () => lock('trusted', process.env.SECURE_NODES),
  untrusted: () =>
    // null: two nodes decided before the third was asked.
    assert.rejects(lock('untrusted', process.env.SECURE_NODES, {}, 0), ({ nodes }) =>
      nodes.filter((node) => node.reason).length >= 2 && nodes.every((node) => (node.reason ?? 'AUTHORITY') === 'AUTHORITY'),
    ),
  // Each worker lets go of the addon before its thread ends, and then OpenSSL cleans up for that thread.
  async workers() {
    for (let i = 0; i < 3; i++) {
      const worker = new Worker(new URL(import.meta.url), { argv: ['secure'] });
      assert.deepEqual(await once(worker, 'exit'), [0]);
    }
  },
  async beside() {
    const key = fs.readFileSync(new URL('./key.pem', import.meta.url));
    const server = https.createServer({ key, cert: fs.readFileSync(ca) }, (request, response) => response.end('own'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address();
    const round = (number) => Promise.all([requestOverOwnTls(port), lockSecurely(`beside-${number % 3}`)]);
    for (let i = 0; i < 3; i++) await Promise.all(Array.from({ length: 4 }, (_, number) => round(number)));
    server.close();
  },
};

await checks[process.argv[2]]();
if (isMainThread) console.log('held');
