# SPDX-License-Identifier: BSD-2-Clause
"""Plays bindings/cases/cases.json: cases.py asyncio|threads TABLE REDLOCK GROUP.

The threaded client plays the same steps: each of its calls is made in a thread that the loop waits for.
"""
import asyncio
import json
import subprocess
import sys
import time

import redlock_native as redlock

PATIENCE_S = 30
AGAIN_S = 0.01
REQUEST = {"client", "lock", "name", "ttl_ms", "kind", "slots", "owner", "more_names", "wait_ms", "renew",
           "fenced", "fair", "label", "max_extensions", "max_hold_ms"}
FIELDS = {
    "client": {"client", "prefix", "node_timeout_ms", "nodes"},
    "acquire": REQUEST, "start": REQUEST, "outcome": {"lock"}, "cancel": {"lock"},
    "extend": {"lock", "ttl_ms"}, "release": {"lock"}, "close": {"client"}, "state": {"lock", "is"},
    "lost": {"lock", "says"}, "remaining": {"lock", "from_ms", "to_ms"}, "fences": {"locks"},
    "no_fence": {"lock"}, "slots": {"locks", "of"},
    "query": {"client", "name", "held", "kind", "label", "holders", "waiters", "slots", "owner",
              "keep_mark"},
    "list": {"client", "has", "lacks"}, "break": {"client", "name", "mark", "literal_mark", "label"},
    "ping": {"client"}, "quorum_of": {"client", "name", "is"}, "kill": {"node"}, "restart": {"node"},
    "hang": {"node"}, "resume": {"node"}, "admit": set(), "pass": {"ms"},
}
OUTCOME = {"do", "expect", "says", "never_says", "votes", "label_in_the_way"}


class Wrong(Exception):
    """The binding did something else than the table says."""


class World:
    """The clients, locks and marks of one case."""

    def __init__(self, threads, command):
        self.threads = threads
        self.command = command
        self.clients, self.locks, self.tasks, self.marks = {}, {}, {}, {}

    async def call(self, function, *arguments):
        """A method of a client or lock, in whichever way it waits."""
        if self.threads:
            return await asyncio.to_thread(function, *arguments)
        return await function(*arguments)

    def lock(self, step):
        seconds = {"ttl": step.get("ttl_ms", 20000) / 1e3, "wait": step.get("wait_ms", 0) / 1e3}
        if step.get("wait_ms") == -1:
            seconds["wait"] = None
        if "max_hold_ms" in step:
            seconds["max_hold"] = step["max_hold_ms"] / 1e3
        more = {field: step[field] for field in ("slots", "owner", "fair", "label", "max_extensions")
                if field in step}
        kind = redlock.Kind[step.get("kind", "mutex").upper()]
        if not self.threads:
            more["on_lost"] = "event"
        return self.clients[step["client"]].lock(
            step["name"], *step.get("more_names", ()), kind=kind, renew=step.get("renew", False),
            fenced=step.get("fenced", False), **seconds, **more)

    async def end(self):
        for client in self.clients.values():
            await self.call(client.close)
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        for lock in self.locks.values():
            lock._free()

    async def dev(self, *words):
        done = await asyncio.create_subprocess_exec(self.command, *words, stdout=subprocess.DEVNULL)
        if await done.wait() != 0:
            raise Wrong(f"redlock {' '.join(words)} failed")


def judge(step, error, report):
    """Is the outcome the expected one?"""
    code = error.code if error else "OK"
    if code != step.get("expect", "OK"):
        raise Wrong(f"{code} ({error}) instead of {step.get('expect', 'OK')}")
    if error and step.get("says", "") not in str(error):
        raise Wrong(f"{str(error)!r} does not say {step['says']!r}")
    if error and step.get("never_says", "\0") in f"{error!r} {error} {error.report}":
        raise Wrong(f"{error!r} says {step['never_says']!r}")
    for vote, count in step.get("votes", {}).items():
        if not report or [n.vote.name for n in report.nodes].count(vote) < count:
            raise Wrong(f"not {count} nodes said {vote}: {report}")
    if "label_in_the_way" in step:
        if not report or not report.holder or report.holder.label != step["label_in_the_way"]:
            raise Wrong(f"in the way is {report and report.holder}")


async def judged(step, awaitable, report=lambda result: None):
    """Waits for it, and judges how it ended."""
    error = result = None
    try:
        result = await asyncio.wait_for(awaitable, PATIENCE_S)
    except redlock.Error as raised:
        error = raised
    judge(step, error, error.report if error else report(result))
    return result


async def again_until(look, what):
    """What must come; meanwhile the clients go on."""
    end = time.monotonic() + PATIENCE_S
    while True:
        seen, is_right = await look()
        if is_right:
            return seen
        if time.monotonic() > end:
            raise Wrong(f"{what}: it stays {seen}")
        await asyncio.sleep(AGAIN_S)


# ---- steps ------------------------------------------------------------------------------------


async def do_client(world, step):
    async def open_client():
        timeout = step.get("node_timeout_ms", 2000) / 1e3
        kind = redlock.Client if world.threads else redlock.AsyncClient
        world.clients[step["client"]] = kind(step.get("nodes"), node_timeout=timeout,
                                             prefix=step.get("prefix"))

    await judged(step, open_client())


async def acquired(world, step):
    lock = world.lock(step)
    world.locks[step["lock"]] = lock
    return await world.call(lock.acquire)


async def do_acquire(world, step):
    await judged(step, acquired(world, step), lambda lock: lock and lock.report())


def begun(client):
    """How many acquisitions the library has begun."""
    counters = client.stats().counters
    return counters["waiting"] + counters["acquired"] + sum(
        count for name, count in counters.items() if name.startswith("refused_"))


async def do_start(world, step):
    client = world.clients[step["client"]]
    lock = world.locks[step["lock"]] = world.lock(step)
    before = begun(client)
    task = world.tasks[step["lock"]] = asyncio.ensure_future(world.call(lock.acquire))

    async def look():
        return task, task.done() or begun(client) > before

    # The order of two threads is that in which their calls reached the library.
    await again_until(look, "the call")


async def do_outcome(world, step):
    async def ended():
        try:
            await world.tasks.pop(step["lock"])
        except asyncio.CancelledError:
            raise redlock.Canceled("the task was canceled") from None

    await judged(step, ended(), lambda _: world.locks[step["lock"]].report())


async def do_cancel(world, step):
    if world.threads:
        world.locks[step["lock"]].cancel()
    else:
        world.tasks[step["lock"]].cancel()


async def do_extend(world, step):
    lock = world.locks[step["lock"]]
    await judged(step, world.call(lock.extend, step["ttl_ms"] / 1e3), lambda _: lock.report())


async def do_release(world, step):
    await judged(step, world.call(world.locks[step["lock"]].release))


async def do_close(world, step):
    await world.call(world.clients[step["client"]].close)


async def do_state(world, step):
    async def look():
        state = world.locks[step["lock"]].state.name.lower()
        return state, state == step["is"]

    await again_until(look, "the state")


async def do_lost(world, step):
    lock = world.locks[step["lock"]]
    await asyncio.wait_for(asyncio.to_thread(lock.lost.wait, PATIENCE_S) if world.threads
                           else lock.lost.wait(), PATIENCE_S)
    try:
        lock.check()
    except redlock.LockLost as loss:
        if step.get("says", "") not in str(loss):
            raise Wrong(f"{str(loss)!r} does not say {step['says']!r}") from None
    else:
        raise Wrong("the loss was not reported")


async def do_remaining(world, step):
    left_ms = world.locks[step["lock"]].remaining * 1e3
    if not step["from_ms"] <= left_ms <= step["to_ms"]:
        raise Wrong(f"{left_ms} ms remain")


async def do_fences(world, step):
    tokens = [world.locks[name].fence for name in step["locks"]]
    if None in tokens or tokens != sorted(set(tokens)) or tokens[0] <= 0:
        raise Wrong(f"the tokens are {tokens}")


async def do_no_fence(world, step):
    if world.locks[step["lock"]].fence is not None:
        raise Wrong("it has a token")


async def do_slots(world, step):
    slots = [world.locks[name].slot for name in step["locks"]]
    if len(set(slots)) != len(slots) or not all(1 <= slot <= step["of"] for slot in slots):
        raise Wrong(f"the slots are {slots}")


async def do_query(world, step):
    client = world.clients[step["client"]]

    async def look():
        try:
            info = await world.call(client.query, step["name"])
        except redlock.Error as error:
            return error, error.code == step.get("expect", "OK")
        if "expect" in step:
            return info, False
        seen = {"held": info.held, "kind": info.kind.name.lower() if info.kind is not None else None,
                "label": info.holder.label if info.holder else "", "holders": info.holder_count, "waiters": info.waiter_count,
                "slots": info.slots, "owner": info.owner}
        return info, all(seen[field] == step[field] for field in seen if field in step)

    info = await again_until(look, "the answer")
    if "keep_mark" in step:
        world.marks[step["keep_mark"]] = info.holders[0].fingerprint


async def do_list(world, step):
    async def look():
        names = set(await world.call(world.clients[step["client"]].list))
        return names, names >= set(step.get("has", ())) and not names & set(step.get("lacks", ()))

    await again_until(look, "the list")


async def do_break(world, step):
    mark = step["literal_mark"] if "literal_mark" in step else world.marks[step["mark"]]
    client = world.clients[step["client"]]
    report = await judged(step, world.call(client.break_lock, step["name"], mark))
    if "label" in step and report.holder.label != step["label"]:
        raise Wrong(f"evicted was {report.holder}")


async def do_ping(world, step):
    async def look():
        try:
            await judged(step, world.call(world.clients[step["client"]].ping), lambda r: r)
        except Wrong as wrong:
            return wrong, False
        return None, True

    await again_until(look, "the answer")


async def do_quorum_of(world, step):
    index = world.clients[step["client"]].quorum_of(step["name"])
    if index != step["is"]:
        raise Wrong(f"it is {index}")


def node_step(verb):
    async def do(world, step):
        await world.dev("dev", verb, str(step["node"]))

    return do


async def do_admit(world, step):
    await world.dev("init", "--yes", "--force", "--node-timeout", "5s")


async def do_pass(world, step):
    await asyncio.sleep(step["ms"] / 1e3)


STEPS = {name[3:]: function for name, function in globals().items() if name.startswith("do_")}
STEPS.update({"kill": node_step("kill"), "restart": node_step("start"), "hang": node_step("hang"),
              "resume": node_step("resume")})


# ---- cases ------------------------------------------------------------------------------------


async def play(world, case):
    for number, step in enumerate(case["steps"], 1):
        unknown = set(step) - FIELDS.get(step["do"], set()) - OUTCOME
        if step["do"] not in STEPS or unknown:
            raise Wrong(f"step {number} is not known here: {step}")
        try:
            await STEPS[step["do"]](world, step)
        except (Wrong, redlock.Error, TimeoutError, asyncio.TimeoutError) as wrong:
            raise Wrong(f"step {number}, {json.dumps(step)}: {wrong!r}") from wrong


async def main(style, table, command, group):
    with open(table, encoding="utf-8") as file:
        cases = json.load(file)["groups"][group]
    failed = 0
    for case in cases:
        world = World(style == "threads", command)
        try:
            await play(world, case)
            print(f"ok - {case['intent']}", flush=True)
        except Wrong as wrong:
            failed = 1
            print(f"not ok - {case['intent']}\n#   {case['name']}: {wrong}", flush=True)
        finally:
            await world.end()
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
