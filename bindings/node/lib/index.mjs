// SPDX-License-Identifier: BSD-2-Clause
import redlock from './index.js';

export const { Client, Lock, RedlockError, version } = redlock;
export default redlock;
