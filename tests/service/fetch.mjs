// SPDX-License-Identifier: BSD-2-Clause
// fetch.mjs PORT: node's fetch, alone and fifty at a time, with a body and with an empty one.
const [tcp] = process.argv.slice(2);
const url = `http://127.0.0.1:${tcp}/livez`;
for (let i = 0; i < 50; i++) {
  const answer = await fetch(url);
  if (answer.status !== 200 || (await answer.json()).status !== "alive") throw "livez";
}
const many = await Promise.all(Array.from({ length: 50 }, () => fetch(url).then(a => a.status)));
if (many.some(status => status !== 200)) throw "many";
const put = await fetch(url, { method: "PUT", body: "{}", headers: { "content-type": "application/json" } });
if (put.status !== 405) throw put.status;
const empty = await fetch(url, { method: "POST" });
if (empty.status !== 405) throw empty.status;
