// SPDX-License-Identifier: BSD-2-Clause
// Compiled, not run, by `make test-node`: the types say what the package does.
import redlock, { Client, Lock, RedlockError, type Query } from 'redlock-native';

export async function uses(): Promise<number> {
  const client = new Client({ nodes: ['127.0.0.1'], nodeTimeout: 100, onWarning: (address) => address.length });
  const text: string = await client.using('a', { ttl: 5, ifAvailable: true }, async (signal, lock) => {
    signal.throwIfAborted();
    return lock.name;
  });
  const lock: Lock = await client.acquire(['a', 'b'], { kind: 'mutex', onJeopardy: (e) => e?.nodes[0].vote === 'TAKEN' });
  const fence: number | null = lock.fence;
  const query: Query = await client.query(text);
  // @ts-expect-error there is no such kind
  await client.acquire('a', { kind: 'rwlock' });
  // @ts-expect-error only using() waits by default
  await client.acquire('a', { ifAvailable: true });
  // @ts-expect-error there is no such option
  await client.acquire('a', { tll: 5 });
  // @ts-expect-error locks are acquired, not made
  new Lock();
  try {
    await lock.extend(5);
  } catch (error) {
    if (error instanceof RedlockError && error.code === 'LOST') return error.nodes.length;
  }
  await redlock.Client.prototype.close.call(client);
  return (fence ?? 0) + query.holders.length + (query.holder?.remaining ?? 0);
}
