// SPDX-License-Identifier: BSD-2-Clause
// serve.mjs FILE: what serve.py does, in Node.
import http from 'node:http';
import { fenced } from '../../../fencing/redlock-fence.mjs';

let number = '0';

async function plain(req, res) {
  let body = '';
  for await (const part of req) body += part;
  if (req.method === 'PUT') number = body;
  res.end(number);
}

const checked = fenced(process.argv[2], plain);
const server = http.createServer((req, res) => (req.url === '/fenced' ? checked : plain)(req, res));
server.keepAliveTimeout = 0; // a holder that is stopped keeps its connection
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
