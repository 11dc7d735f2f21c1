// SPDX-License-Identifier: BSD-2-Clause
// events.mjs URL LEASE OTHER-LEASE: holds a lock by the first lease, and ends it by DELETE after a renewal.
// Reads events as EventSource does, which itself can only GET: fields up to an empty line are one event.
const [, , url, lease, other] = process.argv;
const ask = (method, id, headers, body) =>
    fetch(url, {
        method,
        headers: { Authorization: "Bearer secret-of-reader", "Lease-Id": id, "Content-Type": "application/json", ...headers },
        body,
    });
const give_up = setTimeout(() => process.exit(3), 60000);

async function* events(answer) {
    let text = "";
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
        text += piece;
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
            const fields = text.slice(0, end).split("\n").filter((line) => !line.startsWith(":"));
            const event = Object.fromEntries(fields.map((line) => line.split(/: (.*)/s)));
            if (event.event) yield [event.event, JSON.parse(event.data)];
        }
    }
}

const body = JSON.stringify({ ttl_ms: 3000, wait_ms: 60000 });
const stream = await ask("PUT", lease, { Accept: "text/event-stream" }, body);
console.log(stream.status, stream.headers.get("content-type"));
let renewed = false;
for await (const [event, data] of events(stream)) {
    if (event === "granted") console.log(event, data.fence > 0, data.after_ms >= 0, data.remaining_ms > 0);
    if (event === "granted") console.log("beside it", (await ask("PUT", other, {}, "{}")).status);
    if (event === "renewed" && !renewed) {
        renewed = true;
        console.log(event, (await ask("DELETE", lease, {})).status);
    }
    if (event === "lost") console.log(event, data.status, data.code);
}
console.log("the end");
clearTimeout(give_up);
