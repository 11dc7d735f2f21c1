// SPDX-License-Identifier: BSD-2-Clause
import redlock from './index.js';

export const { Client, Lock, RedlockError, SKIPPED, version } = redlock;
export default redlock;
