// SPDX-License-Identifier: BSD-2-Clause
// npm `redlock`. --retry-ms D waits between D and 2 D before each of its own ten retries, which is
// the best of what was tried: retrying without end keeps the keys of a lost attempt, so that
// callers with their own connections block each other until these expire.
import { TTL_MS, connectAll, drive, load, options } from './harness.mjs';

const { default: Redlock } = load('redlock');

await drive(() => {
  const settings = {};
  if (options['retry-ms'] !== undefined) {
    settings.retryDelay = Number(options['retry-ms']);
    settings.retryJitter = settings.retryDelay;
  }
  const redlock = new Redlock(connectAll(), settings);
  return {
    acquire: (name) => redlock.acquire([name], TTL_MS),
    release: (lock) => lock.release(),
  };
});
