-- SPDX-License-Identifier: BSD-2-Clause
-- Fencing for data in MariaDB: mariadb DATABASE <mariadb.sql, once. For InnoDB. Not tried with MySQL.
--
-- The holder of a lock begins every transaction on what the lock protects, also one that only reads what
-- it will decide by, with
--
--     START TRANSACTION;
--     CALL redlock_fence('orders', 1763500000000042);  -- REDLOCK_FENCE, lock.fence, "fence"
--
-- An earlier holder gets error 1644 (45000) there, and rolls back. It has to be the first statement: a SELECT
-- before it would fix what all later ones see. A transaction that is already under way keeps the row
-- locked, so that the next holder waits for its end (innodb_lock_wait_timeout) and sees what it did.
--
-- Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above all
-- tokens before: nothing is to be done. If these clocks were set back, every holder is refused: when
-- none is at work, DELETE FROM redlock_fence WHERE name = 'orders'.

CREATE TABLE redlock_fence (
    name VARBINARY(512) PRIMARY KEY, -- bytes: no collation takes two names for one
    token BIGINT NOT NULL
) ENGINE = InnoDB;

DELIMITER //
CREATE PROCEDURE redlock_fence(lock_name VARBINARY(512), lock_token BIGINT)
BEGIN
    DECLARE largest BIGINT;
    INSERT INTO redlock_fence VALUES (lock_name, lock_token)
        ON DUPLICATE KEY UPDATE token = GREATEST(token, lock_token);
    SELECT token INTO largest FROM redlock_fence WHERE name = lock_name FOR UPDATE;
    IF lock_token < largest OR lock_token IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'redlock_fence: a later holder has come';
    END IF;
END //
DELIMITER ;
