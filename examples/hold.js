// SPDX-License-Identifier: BSD-2-Clause
// A lock for a Node program, through `redlock hold`; redlock-run(1) shows it as well.
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");

async function work(token) {
  console.log("ours, with token", token);
}

const lock = spawn("redlock", ["hold", "--json", "report"],
                   { stdio: ["pipe", "pipe", "inherit"] });
createInterface({ input: lock.stdout }).on("line", (line) => {
  const told = JSON.parse(line);
  if (!told.ok) console.error(told.message); // busy, or lost
  if (told.event === "held")
    work(told.fence).finally(() => lock.stdin.end());
});
lock.on("exit", (status) => process.exit(status ?? 76));
