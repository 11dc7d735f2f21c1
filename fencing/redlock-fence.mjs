// SPDX-License-Identifier: BSD-2-Clause
// Fencing for an HTTP service in Node: http.createServer(fenced('orders', async (req, res) => { ... })).
//
// What the service changes is protected by a lock, and its holders send their fencing token with
// every request, also with one that only reads what they will decide by:
//
//     Redlock-Fence: 1763500000000042
//
// A request of an earlier holder is answered 412, one that may change something and has no token 428.
// Requests with a token run one after another, each until the promise of its handler is settled: in this process.
// Node has no flock(2), so one process serves what one file stands for. The largest token is kept in
// orders.fence, on the disk before the request runs.
//
// Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above
// all tokens before: nothing is to be done. If these clocks were set back, every holder is refused:
// when none is at work, remove orders.fence.
import fs from 'node:fs';
import path from 'node:path';

const RECORD = 42; // the token twice: half of a record is none
const PLACES = [0, 4096]; // a crash spoils the record that is being written, at most
const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE'];

function sync(name, flags) {
  const fd = fs.openSync(name, flags);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

// The larger token that was admitted before, or 0: this one is admitted.
function admit(fd, file, token) {
  const records = PLACES.map((place) => {
    const bytes = Buffer.alloc(RECORD);
    return bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, RECORD, place));
  });
  const tokens = records.map((record) => Number(/^([0-9]{20}) \1\n$/.exec(record)?.[1] ?? 0));
  const largest = Math.max(...tokens);
  if (records.some((r) => /[^0-9 \n\0]/.test(r)) || (!largest && records.every((r) => r)))
    throw new Error(`${file} is damaged or no token file`);
  if (token < largest) return largest;
  const text = String(token).padStart(20, '0');
  const place = PLACES[tokens.indexOf(Math.min(...tokens))];
  if (token > largest && fs.writeSync(fd, `${text} ${text}\n`, place) !== RECORD)
    throw new Error(`${file} cannot be written`);
  fs.fsyncSync(fd);
  if (!records[0]) sync(path.dirname(path.resolve(file)), 'r');
  return 0;
}

export function fenced(name, handler) {
  const file = `${name}.fence`;
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants;
  const fd = fs.openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o666);
  let last = Promise.resolve();

  function refuse(res, status, reason) {
    res.writeHead(status, { 'Content-Type': 'text/plain' }).end(`${reason}\n`);
  }

  async function inTurn(req, res, token) {
    let largest;
    try {
      largest = admit(fd, file, token);
    } catch (error) {
      return refuse(res, 500, error.message);
    }
    if (largest) return refuse(res, 412, `a later holder has come, with token ${largest}`);
    return handler(req, res);
  }

  return async (req, res) => {
    const header = req.headers['redlock-fence'];
    if (header === undefined && SAFE.includes(req.method)) return handler(req, res);
    if (header === undefined) return refuse(res, 428, 'the header Redlock-Fence is missing');
    const token = /^[0-9]{1,16}$/.test(header) ? Number(header) : 0;
    if (!(token > 0 && token < 2 ** 53)) return refuse(res, 400, 'Redlock-Fence is no fencing token');
    const turn = last.then(() => inTurn(req, res, token));
    last = turn.catch(() => {});
    return turn;
  };
}
