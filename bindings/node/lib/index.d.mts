// SPDX-License-Identifier: BSD-2-Clause
export * from './index.js';
import * as redlock from './index.js';
export default redlock;
