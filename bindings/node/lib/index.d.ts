// SPDX-License-Identifier: BSD-2-Clause
// All times are milliseconds.

/// <reference lib="es2018" />

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/** What a call failed with: a name of `enum redlock_error` of redlock.h, or CLOSED. */
export type ErrorCode =
  /** Another holds the lock, and `wait` was 0. */
  | 'BUSY'
  /** Another still held the lock when `wait` had passed. */
  | 'TIMEOUT'
  /** Too few nodes could vote. */
  | 'NOQUORUM'
  /** The same because nodes are in quarantine: young, or suspect. */
  | 'GUARDED'
  /** The lock is no longer ours; of a release: and another holds it. */
  | 'LOST'
  /** The lock had ended before it was released, or what was to be evicted was gone. */
  | 'EXPIRED'
  /** The wait was ended: by the caller's signal (`name` is AbortError), or by close(). */
  | 'CANCELED'
  /** Bad input: the message names what is wrong with it. */
  | 'INVAL'
  | 'AUTH'
  | 'PROTO'
  | 'NOMEM'
  | 'SYSTEM'
  /** The client has been closed. */
  | 'CLOSED';

/** What one node replied: a name of `enum redlock_vote` of redlock.h. */
export type Vote =
  | 'NONE'
  | 'PENDING'
  | 'GRANTED'
  | 'TAKEN'
  | 'MISSING'
  | 'SILENT'
  | 'REFUSED'
  | 'UNREACHABLE'
  | 'AUTH'
  | 'PROTO'
  | 'LOADING'
  | 'READONLY'
  | 'ERROR'
  | 'GUARDED'
  | 'NOPERM';

/** Why a node does not vote, or did not answer: a name of `enum redlock_reason` of redlock.h. */
export type Reason = 'REFUSED' | 'SILENT' | 'WRONG_PASSWORD' | 'YOUNG' | 'OTHER_SET' | (string & {});

export interface NodeReport {
  address: string;
  vote: Vote;
  /** The vote in words. */
  meaning: string;
  /** Null: there is none. */
  reason: Reason | null;
  /** Time to its answer. */
  rtt: number | null;
  /** Remaining life of the key, where it was queried. */
  keyRemaining: number | null;
  /** The value that is in the way. */
  value: string | null;
  /** The words of the server or the system. */
  text: string | null;
}

export interface Holder {
  value: string | null;
  label: string | null;
  /** For client.break(); only client.query() reports it. */
  fingerprint: string | null;
  heldFor: number | null;
  /** `heldFor` is a lower bound. */
  heldAtLeast: boolean;
  /** On how many nodes it was found. */
  votes: number;
  /** How long it stays on a majority of the nodes. */
  remaining: number | null;
}

export interface Report {
  nodes: NodeReport[];
  /** The holder that is in the way, or that was evicted. */
  holder: Holder | null;
  /** The name of the quorum, where there are several. */
  quorum: string | null;
}

export class RedlockError extends Error {
  constructor(code: ErrorCode, message: string, report?: object);
  readonly code: ErrorCode;
  /** The name of the lock. */
  readonly lock: string | null;
  /** What each node replied. */
  readonly nodes: NodeReport[];
  /** BUSY, TIMEOUT: the holder that is in the way, as far as the nodes report. */
  readonly holder: Holder | null;
  readonly waiterCount: number;
  readonly quorum: string | null;
}

export type Kind = 'mutex' | 'shared' | 'reentrant' | 'semaphore';

export interface AcquireOptions {
  /** How long the lock lasts without renewal; 30,000 by default. */
  ttl?: number;
  /** 0: try once, the default of acquire(). Infinity: as long as it takes, the default of using(). */
  wait?: number;
  /** Ends the wait. In using() it aborts the body's signal, too. */
  signal?: AbortSignal;
  /** Renew at a third of the TTL while it is held. False by default; in using() true. */
  renew?: boolean;
  kind?: Kind;
  /** Semaphore: how many may hold it, the same for every caller. */
  slots?: number;
  /** Reentrant: holds of one owner do not exclude each other. This client by default. */
  owner?: string;
  /** With a fencing token, lock.fence. */
  fenced?: boolean;
  /** First come, first served, from the first attempt on. */
  fair?: boolean;
  /**
   * For people to read: shown to callers that are refused, by query() and by `redlock status`.
   * user@host:pid (program) by default; '' for none.
   */
  label?: string;
  /** Renewals and extensions allowed; no limit by default. */
  maxExtensions?: number;
  /** No extension may carry the lock past this age; no limit by default. */
  maxHold?: number;
  /** The place in the queue: 1 is the head. */
  onQueued?: (place: number) => void;
  /** A renewal failed; null when a later one succeeded. */
  onJeopardy?: (error: RedlockError | null) => void;
}

export interface UsingOptions extends AcquireOptions {
  /** Try once, as `wait: 0`: rejects with BUSY if another holds the lock. */
  ifAvailable?: boolean;
}

export interface OnceOptions {
  /** At most once in this time, 1000 to 86400000, however short the run is. */
  every?: number;
  /** Keep the lock at least so long after it was taken, even if the body ends earlier. */
  minHold?: number;
  ttl?: number;
  /** 0 by default: another process runs it. */
  wait?: number;
  label?: string;
}

/** What once() resolves to where another process has run it. */
export const SKIPPED: unique symbol;

export type LeadOptions = Pick<AcquireOptions, 'ttl' | 'wait' | 'signal' | 'fair' | 'label'>;

export type LockState = 'held' | 'jeopardy' | 'lost' | 'released';

export class Lock {
  private constructor();
  readonly name: string;
  readonly client: Client;
  /** What became of the lock, by the local clock at this moment. */
  readonly state: LockState;
  /** It is certainly ours: something remains. */
  readonly held: boolean;
  /** How long it is still certainly ours; 0 when it is not held. Asked of the local clock. */
  readonly remaining: number;
  /** The fencing token of a lock acquired with `fenced`, or with the profile correctness. */
  readonly fence: number | null;
  /** Which slot of a semaphore is held, from 1 on. */
  readonly slot: number | null;
  /**
   * Aborted when the lock is lost; its reason is the RedlockError. Code that keeps the loop from running
   * reads this property again, or `lost`: each time it is the library that answers.
   */
  readonly signal: AbortSignal;
  /** Why it was lost; null: it is not. */
  readonly lost: RedlockError | null;
  /** The value on the nodes. */
  readonly value: string | null;
  /** On how many nodes it is known to be beyond a bare majority; negative: fewer. */
  readonly margin: number;
  /** Node by node, the last operation. */
  report(): Report & { waiterCount: number };
  /** For `ttl` from now on; never shortens. Resolves to what remains. */
  extend(ttl: number): Promise<number>;
  /** Again and again is the same. Rejects with EXPIRED or LOST if it had ended before. */
  release(): Promise<void>;
  /** Ends the handle, and leaves the lock on the nodes until it expires. */
  leave(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ClientOptions {
  /** URLs: redis://[user[:password]@]host[:port][/db], rediss://, unix:///path, host:port; or of one
   * Sentinel group, sentinel://host1+host2+host3/group; or of a cluster, cluster://host1+host2+host3. */
  nodes?: string[];
  /** Instead of `nodes`: several quorums, by name. */
  quorums?: Record<string, string[]>;
  /** Without nodes and quorums: this configuration file and no other. */
  configFile?: string;
  /** Every request, reply, vote and decision, a line each, appended to this file. */
  traceFile?: string;
  /** Before every name; "redlock:" by default. */
  prefix?: string;
  /** How long one node has to answer; 50 by default. */
  nodeTimeout?: number;
  connectTimeout?: number;
  maxTtl?: number;
  driftPpm?: number;
  retryMin?: number;
  retryMax?: number;
  username?: string;
  password?: string;
  /** Its first line; read for every connection. */
  passwordFile?: string;
  /** Prints it: an absolute path and arguments, separated by blanks, without a shell. */
  passwordCommand?: string;
  /** So often file and command are read again and connections log in again; 300000 by default. */
  passwordMaxAge?: number;
  /** The same for the sentinels of sentinel:// nodes. */
  sentinelUsername?: string;
  sentinelPassword?: string;
  sentinelPasswordFile?: string;
  sentinelPasswordCommand?: string;
  clientName?: string;
  tlsCaFile?: string;
  tlsCertFile?: string;
  tlsKeyFile?: string;
  tlsServerName?: string;
  /**
   * "efficiency" by default. "correctness": every lock has a fencing token, nodes are checked with every
   * acquire, and grants count only of nodes that pass the safety checks of `redlock doctor`.
   */
  profile?: 'efficiency' | 'correctness';
  noGuard?: boolean;
  noNative?: boolean;
  /** What is doubtful about a node; process.emitWarning() by default. */
  onWarning?: (address: string, text: string) => void;
}

export interface Query {
  held: boolean;
  kind: Kind | null;
  /** The one that most nodes have. */
  holder: Holder | null;
  /** The nodes that answered do not all report the same. */
  disagree: boolean;
  /** The fence counter that a majority has reached. */
  fence: number;
  slots: number;
  owner: string | null;
  holderCount: number;
  holders: Holder[];
  waiterCount: number;
  waiters: { name: string | null; label: string | null; waitedFor: number | null }[];
  nodes: NodeReport[];
  quorum: string | null;
}

export interface NodeInfo {
  address: string;
  state: 'down' | 'connecting' | 'up';
  /** Why it is down, late or in quarantine, and in words. */
  reason: Reason | null;
  text: string | null;
  quorum: string | null;
  tls: boolean;
  native: boolean;
  rtt: number | null;
  connects: number;
  pending: number;
  version: string | null;
  /** Its grants are not counted. */
  quarantined: boolean;
  /** In quarantine because it belongs to another set of nodes, or to none while others do. */
  misplaced: boolean;
  quarantineFor: number | null;
  /** 'failover': another server can take its place unseen. 'sentinel': a group, 'cluster': a vote of a cluster; its server and its term are what most of its sentinels name. */
  deployment: 'server' | 'failover' | 'sentinel' | 'cluster';
  server: string | null;
  term: number | null;
}

export interface Stats {
  acquired: number;
  refusedBusy: number;
  refusedTimeout: number;
  refusedNoQuorum: number;
  refusedGuarded: number;
  refusedCanceled: number;
  refusedOther: number;
  late: number;
  renewed: number;
  renewalsFailed: number;
  released: number;
  releasesFailed: number;
  lostExpired: number;
  lostMissing: number;
  lostDoubt: number;
  waiting: number;
  held: number;
}

export class Client {
  /** Without nodes and quorums: those that the machine is configured with, as the command. */
  constructor(options?: ClientOptions);
  /** Several names are acquired together, all or none. */
  acquire(name: string | string[], options?: AcquireOptions): Promise<Lock>;
  /**
   * Waits for the lock, runs `body` while it is held, and renews it. The signal is aborted when the lock is lost, and
   * with options.signal. Rejects with what the body throws; with the loss, if the body did not notice it.
   */
  using<T>(
    name: string | string[],
    options: UsingOptions,
    body: (signal: AbortSignal, lock: Lock) => Promise<T> | T,
  ): Promise<T>;
  using<T>(
    name: string | string[],
    body: (signal: AbortSignal, lock: Lock) => Promise<T> | T,
  ): Promise<T>;
  /**
   * Waits until it is elected and runs `body`; lock.fence is the number of the term. The signal is aborted when the lock is
   * lost: then the body stops, and this stands for election again, so the body runs again and again. When
   * it ends with the lock still held, it resigns, and its outcome is that of lead().
   */
  lead<T>(
    name: string,
    options: LeadOptions,
    body: (signal: AbortSignal, lock: Lock) => Promise<T> | T,
  ): Promise<T>;
  lead<T>(name: string, body: (signal: AbortSignal, lock: Lock) => Promise<T> | T): Promise<T>;
  /**
   * Of all processes that call it with this name, one runs `body`; the others get SKIPPED. The same promise, and the same
   * record, as `redlock run --every` and once() of Python.
   */
  once<T>(
    name: string,
    options: OnceOptions,
    body: (signal: AbortSignal, lock: Lock) => Promise<T> | T,
  ): Promise<T | typeof SKIPPED>;
  once<T>(
    name: string,
    body: (signal: AbortSignal, lock: Lock) => Promise<T> | T,
  ): Promise<T | typeof SKIPPED>;
  /** Who holds it? Advice: the answer is old when it arrives. */
  query(name: string): Promise<Query>;
  /** Which locks are there? */
  list(): Promise<string[]>;
  /** Evicts the holder with this fingerprint (query()), and never one that came after it. */
  break(name: string, fingerprint: string): Promise<Report>;
  ping(): Promise<{ nodes: NodeReport[]; quorum: string | null }>;
  /** Waits until a replica of each Sentinel group has what this client wrote on it. TIMEOUT: none has confirmed it in time. */
  replicate(): Promise<{ nodes: NodeReport[]; quorum: string | null }>;
  nodes(): NodeInfo[];
  stats(): Stats;
  /** The index of the quorum in which the name lives. */
  quorumOf(name: string): number;
  readonly closed: boolean;
  /** Waits end with CANCELED, locks are released (a loss for a body that still runs), connections closed. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Of the library. */
export const version: string;
