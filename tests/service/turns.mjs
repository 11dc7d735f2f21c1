// SPDX-License-Identifier: BSD-2-Clause
// As turns.py, by the fetch of node.
import { randomBytes } from "node:crypto";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

const { FIRST, SECOND, TOKEN, NUMBER, FENCES, LOCK } = process.env;
const replicas = [FIRST, SECOND];
for (let turn = 0; turn < 5; turn++) {
  const headers = { "lease-id": randomBytes(24).toString("base64url"), authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json" };
  const ask = (method, base, body) => fetch(`${base}/v1/locks/${LOCK}`, { method, headers, body });
  const began = performance.now();
  let answer = await ask("PUT", replicas[turn % 2], '{"ttl_ms":30000,"wait_ms":50000}');
  const held = await answer.json();
  if (answer.status !== 201) throw held;
  const deadline = began + held.after_ms + held.remaining_ms;
  const number = Number(readFileSync(NUMBER, "utf8"));
  await new Promise(done => setTimeout(done, 2));
  if (performance.now() >= deadline) throw "the machine stood still";
  writeFileSync(NUMBER, `${number + 1}\n`);
  appendFileSync(FENCES, `${held.fence}\n`);
  headers.grant = held.grant;
  answer = await ask("POST", replicas[1 - turn % 2], '{"ttl_ms":20000}');
  if (answer.status !== 200 || (await answer.json()).fence !== held.fence) throw answer.status;
  answer = await ask("DELETE", replicas[1 - turn % 2]);
  if (answer.status !== 204) throw answer.status;
}
console.log("fine");
