// SPDX-License-Identifier: BSD-2-Clause
'use strict';
// Checking what callers pass, before the library sees it: types and names of options.

const { invalid } = require('./errors.js');
const { defaultLabel } = require('./label.js');
const native = require('./native.js');

const KINDS = native.kinds();
const WAIT_FOREVER = -1;
const UINT32_MAX = 0xffffffff;
const LONE_SURROGATE = /\p{Surrogate}/u;

// redlock_request.flags and redlock_options.flags
const FLAGS = { renew: 1, fenced: 2, fair: 8 };
const PLACES = 0x20; // requested by onQueued
const CLIENT_FLAGS = { noNative: 2, noGuard: 8 };
const PROFILES = { efficiency: 1, correctness: 2 };

// The value of an option of this type, or `otherwise` where it is left out.
function option(options, name, type, otherwise) {
  const value = options[name];
  if (value === undefined || value === null) return otherwise;
  if (typeof value !== type) throw invalid(`${name} must be a ${type}, not ${show(value)}`);
  return value;
}

// Only its type: a value may be, or have in it, a password.
function show(value) {
  const type = Array.isArray(value) ? 'array' : typeof value;
  if (value === undefined || value === null) return String(value);
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

function number(options, name, otherwise, most = Number.MAX_SAFE_INTEGER) {
  const value = option(options, name, 'number', otherwise);
  if (!Number.isFinite(value) || value > most)
    throw invalid(`${name} must be a number up to ${most}, not ${value}`);
  return Math.round(value);
}

function count(options, name) {
  const value = number(options, name, 0, UINT32_MAX);
  if (value < 0) throw invalid(`${name} must not be negative: ${value}`);
  return value;
}

function checkNames(options, known, what) {
  if (typeof options !== 'object' || options === null)
    throw invalid(`the options of ${what} must be an object, not ${show(options)}`);
  for (const name in options)
    if (!known.has(name)) throw invalid(`${what} has no option '${name}'; it knows ${[...known].join(', ')}`);
}

// Every text ends at its first NUL in C, and half of a surrogate pair has no UTF-8: names that differ would become
// one.
function checkText(text, what) {
  if (typeof text !== 'string') throw invalid(`${what} must be a string, not ${show(text)}`);
  if (text.includes('\0')) throw invalid(`${what} must not contain a NUL character`);
  if (LONE_SURROGATE.test(text)) throw invalid(`${what} must be well-formed: it has half of a surrogate pair`);
  return text;
}

function text(options, name) {
  const value = options[name];
  return value === undefined || value === null ? undefined : checkText(value, name);
}

const REQUEST_OPTIONS = new Set([
  'ttl', 'wait', 'kind', 'slots', 'owner', 'renew', 'fenced', 'fair', 'label', 'maxExtensions',
  'maxHold', 'signal', 'onQueued', 'onJeopardy',
]);
const BODY_OPTIONS = new Set([...REQUEST_OPTIONS, 'ifAvailable']);
const DEFAULT_TTL = 30_000;
const NO_OPTIONS = Object.freeze({});

// What has a body waits, as the Web Locks API does; what gives a handle tries once.
function readWait(options, hasBody) {
  if (option(options, 'ifAvailable', 'boolean', false)) {
    if (options.wait) throw invalid('ifAvailable does not wait: leave out wait');
    return 0;
  }
  if ((options.wait ?? (hasBody ? Infinity : 0)) === Infinity) return WAIT_FOREVER;
  const wait = number(options, 'wait', 0);
  if (wait < 0) throw invalid(`wait must be milliseconds from 0 on, or Infinity, not ${wait}`);
  return wait;
}

function readSignal(options) {
  const { signal } = options;
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal !== 'object' || typeof signal.addEventListener !== 'function' || !('aborted' in signal))
    throw invalid(`signal must be an AbortSignal, not ${show(signal)}`);
  return signal;
}

// What client.acquire() and client.using() were given, as native.start() wants it.
function readRequest(name, options = NO_OPTIONS, hasBody = false) {
  checkNames(options, hasBody ? BODY_OPTIONS : REQUEST_OPTIONS, hasBody ? 'using' : 'acquire');
  const names = Array.isArray(name) ? name : [name];
  if (names.length === 0) throw invalid('name must be a string, or an array of at least one');
  for (const one of names) checkText(one, 'name');
  const kind = KINDS.indexOf(option(options, 'kind', 'string', 'mutex'));
  if (kind < 0) throw invalid(`kind must be one of ${KINDS.join(', ')}, not '${options.kind}'`);
  let flags = 0;
  for (const flag in FLAGS)
    if (option(options, flag, 'boolean', hasBody && flag === 'renew')) flags |= FLAGS[flag];
  const onQueued = option(options, 'onQueued', 'function', undefined);
  if (onQueued) flags |= PLACES;
  return {
    name: names[0],
    moreNames: names.length > 1 ? names.slice(1) : undefined,
    ttl: number(options, 'ttl', DEFAULT_TTL),
    wait: readWait(options, hasBody),
    kind,
    flags,
    slots: count(options, 'slots'),
    owner: text(options, 'owner'),
    label: text(options, 'label') ?? defaultLabel(),
    maxExtensions: count(options, 'maxExtensions'),
    maxHold: number(options, 'maxHold', 0),
    signal: readSignal(options),
    onQueued,
    onJeopardy: option(options, 'onJeopardy', 'function', undefined),
  };
}

const CLIENT_NUMBERS = ['nodeTimeout', 'connectTimeout', 'maxTtl', 'driftPpm', 'retryMin', 'retryMax', 'passwordMaxAge'];
const CLIENT_TEXTS = [
  'prefix', 'username', 'password', 'passwordFile', 'passwordCommand', 'sentinelUsername', 'sentinelPassword',
  'sentinelPasswordFile', 'sentinelPasswordCommand', 'clientName', 'tlsCaFile', 'tlsCertFile', 'tlsKeyFile', 'tlsServerName', 'configFile', 'traceFile',
];
const CLIENT_OPTIONS = new Set([
  'nodes', 'quorums', 'onWarning', 'profile', ...Object.keys(CLIENT_FLAGS), ...CLIENT_NUMBERS, ...CLIENT_TEXTS,
]);

function readNodes(nodes, what) {
  if (!Array.isArray(nodes)) throw invalid(`${what} must be an array of URLs, not ${show(nodes)}`);
  return nodes.map((node) => checkText(node, `each of ${what}`));
}

// What new Client() was given, as native.open() wants it.
function readClientOptions(options = NO_OPTIONS) {
  checkNames(options, CLIENT_OPTIONS, 'Client');
  const out = { flags: 0 };
  for (const flag in CLIENT_FLAGS) if (option(options, flag, 'boolean', false)) out.flags |= CLIENT_FLAGS[flag];
  const profile = text(options, 'profile');
  if (profile) {
    if (!Object.hasOwn(PROFILES, profile)) throw invalid('profile is neither efficiency nor correctness');
    out.profile = PROFILES[profile];
  }
  for (const name of CLIENT_NUMBERS) out[name] = count(options, name);
  for (const name of CLIENT_TEXTS) out[name] = text(options, name);
  // An empty list is a list that was meant to be filled: the machine's configuration is not read.
  if (options.nodes !== undefined && options.nodes !== null) {
    out.nodes = readNodes(options.nodes, 'nodes');
    if (out.nodes.length === 0)
      throw invalid('nodes is an empty array; leave it out for the nodes that the machine is configured with');
  }
  if (options.quorums !== undefined && options.quorums !== null) {
    const { quorums } = options;
    if (typeof quorums !== 'object' || Array.isArray(quorums) || Object.keys(quorums).length === 0)
      throw invalid('quorums must be an object: {name: [url, ...], ...}');
    out.quorums = Object.keys(quorums).map((name) => ({
      name,
      nodes: readNodes(quorums[name], `quorums.${name}`),
    }));
  }
  return out;
}

module.exports = { readRequest, readClientOptions, checkText, option };
