-- The tables of flock-postgres, version 2. Run this once in the database, as a user who may create schemas:
--
--     flock-postgres --schema | psql --single-transaction -v ON_ERROR_STOP=1 'service=...'
--
-- All users of locks need these rights:
--
--     GRANT USAGE ON SCHEMA flock TO cron;
--     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA flock TO cron;

CREATE SCHEMA flock;

-- One row, which all locks share.
CREATE TABLE flock.server (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    version  integer NOT NULL,                   -- of these tables
    ttl      integer NOT NULL CHECK (ttl BETWEEN 2 AND 60), -- seconds. Change it only while nobody holds a lock or waits.
    started  timestamptz NOT NULL,               -- the server's start, which identifies it
    epoch    integer NOT NULL,                   -- how often another server, or clock, was found
    quiet    timestamptz NOT NULL                -- until then nobody gets a lock and no row expires
);

-- Every lock that was ever requested.
CREATE TABLE flock.name (
    name     bytea PRIMARY KEY,
    seq      bigint NOT NULL,                    -- grows with each change of the lock
    token    bigint NOT NULL,                    -- of the last exclusive holder
    cools    timestamptz,                        -- the end of its cooldown
    -- The run that got it last:
    last_key      uuid,                          -- of its row in flock.contender
    last_host     text,
    last_pid      integer,
    last_username text,
    last_token    bigint,                        -- NULL: not an exclusive one
    last_taken    timestamptz,
    last_ended    timestamptz,                   -- NULL: it still has the lock, or lost it
    last_status   integer,                       -- of the command, or of flock-postgres if no command started
    last_signal   integer                        -- that killed the command, instead of a status
) WITH (fillfactor = 50);

-- Holders and waiters. Renewals change no indexed column.
CREATE TABLE flock.contender (
    key      uuid PRIMARY KEY,
    name     bytea NOT NULL REFERENCES flock.name,
    cooling  bigint,                             -- its place in the line of those that use the cooldown
    seq      bigint,                             -- its place in the line for the lock
    mode     text NOT NULL CHECK (mode IN ('exclusive', 'shared', 'permit')),
    permits  integer NOT NULL,
    cooldown interval NOT NULL,
    cools_from text NOT NULL CHECK (cools_from IN ('start', 'end', 'success')),
    came     timestamptz NOT NULL,
    taken    timestamptz,                        -- when it got the lock
    renewed  timestamptz NOT NULL,
    expires  timestamptz NOT NULL,
    epoch    integer NOT NULL,                   -- of the server that renewed it
    host     text NOT NULL,
    pid      integer NOT NULL,
    username text NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX ON flock.contender (name);

-- The first request does not recognize this server, so nobody gets a lock for one TTL: somebody may still hold a lock
-- from earlier tables.
INSERT INTO flock.server VALUES (true, 2, 10, '-infinity', 0, 'epoch');
