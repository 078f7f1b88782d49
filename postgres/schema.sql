-- The tables of flock-postgres, version 2. Run this once in the database, as a user who may make a schema:
--
--     flock-postgres --schema | psql --single-transaction -v ON_ERROR_STOP=1 'service=...'
--
-- Then everybody who takes locks needs these rights:
--
--     GRANT USAGE ON SCHEMA flock TO cron;
--     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA flock TO cron;

CREATE SCHEMA flock;

-- What all locks share. It has one row.
CREATE TABLE flock.server (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    version  integer NOT NULL,                   -- of these tables
    ttl      integer NOT NULL CHECK (ttl BETWEEN 2 AND 60), -- seconds. Change it only while nobody has a lock or waits.
    started  timestamptz NOT NULL,               -- the server's start, to recognize it
    epoch    integer NOT NULL,                   -- how often another server was found
    quiet    timestamptz NOT NULL                -- until then nobody gets a lock, and no row expires
);

-- A lock that somebody has asked for, ever.
CREATE TABLE flock.name (
    name     bytea PRIMARY KEY,
    seq      bigint NOT NULL,                    -- grows with each change of the lock
    token    bigint NOT NULL,                    -- of the last exclusive holder
    cools    timestamptz,                        -- until when its cooldown lasts
    -- The run that has got it last:
    last_key      uuid,                          -- of its row in flock.contender
    last_host     text,
    last_pid      integer,
    last_username text,
    last_token    bigint,                        -- NULL: it was not an exclusive one
    last_taken    timestamptz,
    last_ended    timestamptz,                   -- NULL: it has the lock still, or has lost it
    last_status   integer,                       -- of the command, or of flock-postgres if that was not started
    last_signal   integer                        -- that has killed the command, instead of the status
) WITH (fillfactor = 50);

-- Who holds a lock or waits for it. Renewals change no indexed column.
CREATE TABLE flock.contender (
    key      uuid PRIMARY KEY,
    name     bytea NOT NULL REFERENCES flock.name,
    cooling  bigint,                             -- its place in the line of those who respect the cooldown
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

-- The first one who asks does not know this server, so nobody gets a lock before the TTL is over: there may have been
-- other tables before these, and somebody who has a lock by those.
INSERT INTO flock.server VALUES (true, 2, 10, '-infinity', 0, 'epoch');
