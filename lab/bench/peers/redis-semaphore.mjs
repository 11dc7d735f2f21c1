// SPDX-License-Identifier: BSD-2-Clause
// npm `redis-semaphore`: its RedlockMutex, a new one for every lock as its documentation does.
// --retry-ms is its retryInterval (10 ms by default).
import { TTL_MS, connectAll, drive, load, options } from './harness.mjs';

const { RedlockMutex } = load('redis-semaphore');

await drive(() => {
  const clients = connectAll();
  const settings = { lockTimeout: TTL_MS };
  if (options['retry-ms'] !== undefined) settings.retryInterval = Number(options['retry-ms']);
  return {
    acquire: async (name) => {
      const mutex = new RedlockMutex(clients, name, settings);
      await mutex.acquire();
      return mutex;
    },
    release: (mutex) => mutex.release(),
  };
});
