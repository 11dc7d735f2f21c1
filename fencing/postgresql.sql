-- SPDX-License-Identifier: BSD-2-Clause
-- Fencing for data in PostgreSQL: psql -f postgresql.sql, once.
--
-- The holder of a lock begins every transaction on what the lock protects, also one that only reads what
-- it will decide by, with
--
--     SELECT redlock_fence('orders', 1763500000000042);  -- REDLOCK_FENCE, lock.fence, "fence"
--
-- A transaction of an earlier holder fails there. One that is already under way keeps the row locked, so
-- that the next holder waits for its end and sees what it did. One that was stopped halfway keeps the next
-- holder waiting as well: idle_in_transaction_session_timeout ends it.
--
-- Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above all
-- tokens before: nothing is to be done. If these clocks were set back, every holder is refused: when
-- none is at work, DELETE FROM redlock_fence WHERE name = 'orders'.

CREATE TABLE redlock_fence (name text PRIMARY KEY, token bigint NOT NULL);

CREATE FUNCTION redlock_fence(lock_name text, lock_token bigint) RETURNS void AS $$
BEGIN
    -- The row is written even if the token is the same: its lock puts the holders in order, at
    -- every level of isolation.
    INSERT INTO redlock_fence AS f VALUES (lock_name, lock_token)
        ON CONFLICT (name) DO UPDATE SET token = lock_token WHERE f.token <= lock_token;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'redlock_fence: a later holder of % has come; token % is too old',
            lock_name, lock_token USING ERRCODE = 'RL001';
    END IF;
END
$$ LANGUAGE plpgsql;

-- The variant for statements that cannot be changed: a trigger calls the function before each write, with
-- the token that the session or the transaction has set. (A write without one fails.)
--
--     CREATE TRIGGER redlock_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON orders
--         EXECUTE FUNCTION redlock_fence_check('orders');
--     SET redlock.fence = 1763500000000042;
--
-- It sees no SELECT. What a holder reads before it writes, and writes back, needs the call above.
CREATE FUNCTION redlock_fence_check() RETURNS trigger AS $$
BEGIN
    PERFORM redlock_fence(TG_ARGV[0], current_setting('redlock.fence')::bigint);
    RETURN NULL;
END
$$ LANGUAGE plpgsql;
