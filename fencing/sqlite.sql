-- SPDX-License-Identifier: BSD-2-Clause
-- Fencing for data in SQLite: sqlite3 FILE <sqlite.sql, once.
--
-- The holder of a lock begins every transaction on what the lock protects, also one that only reads what
-- it will decide by, with
--
--     BEGIN IMMEDIATE;
--     INSERT INTO redlock_fence VALUES ('orders', 1763500000000042);  -- REDLOCK_FENCE, lock.fence
--
-- A transaction of an earlier holder fails there, and rolls back. One that is already under way keeps the
-- database locked: the next holder waits for its end (busy_timeout) and sees what it did.
--
-- Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above all
-- tokens before: nothing is to be done. If these clocks were set back, every holder is refused: when
-- none is at work, DELETE FROM redlock_fence WHERE name = 'orders'.

CREATE TABLE redlock_fence (
    name TEXT PRIMARY KEY ON CONFLICT REPLACE,
    token INTEGER NOT NULL CHECK (typeof(token) = 'integer')
) WITHOUT ROWID;

CREATE TRIGGER redlock_fence_check BEFORE INSERT ON redlock_fence
WHEN NEW.token < (SELECT token FROM redlock_fence WHERE name = NEW.name)
BEGIN
    SELECT RAISE(ABORT, 'redlock_fence: a later holder has come; the token is too old');
END;
