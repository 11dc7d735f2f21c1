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
  const report = JSON.parse(line);
  if (!report.ok) console.error(report.message); // busy, or lost
  if (report.event === "held")
    work(report.fence).finally(() => lock.stdin.end());
});
lock.on("exit", (status) => process.exit(status ?? 76));
