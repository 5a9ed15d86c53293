-- +goose Up

-- Times are nanoseconds since 1970 everywhere.
CREATE TABLE deployment (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  note    TEXT NOT NULL DEFAULT '',
  labels  TEXT NOT NULL DEFAULT '{}',
  gpus    INTEGER NOT NULL DEFAULT 0,
  peak    REAL NOT NULL DEFAULT 0,
  created INTEGER NOT NULL,
  deleted INTEGER
) STRICT;

CREATE TABLE engine (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  deployment INTEGER NOT NULL REFERENCES deployment (id),
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  host       TEXT NOT NULL,
  rank       INTEGER NOT NULL,
  gpu        INTEGER NOT NULL,
  role       TEXT NOT NULL,
  model      TEXT NOT NULL,
  parallel   TEXT NOT NULL,
  version    TEXT NOT NULL,
  UNIQUE (deployment, name)
) STRICT;

CREATE TABLE series (
  id     INTEGER PRIMARY KEY,
  metric TEXT NOT NULL,
  label  TEXT NOT NULL,
  UNIQUE (metric, label)
) STRICT;

-- A layout never changes. key is the SHA-256 of its section and columns;
-- columns are ids of series as a JSON array, in the order of a row's values.
CREATE TABLE layout (
  id      INTEGER PRIMARY KEY,
  key     BLOB NOT NULL UNIQUE,
  section TEXT NOT NULL,
  columns TEXT NOT NULL
) STRICT;

-- Which layouts an engine's rows have had.
CREATE TABLE stream (
  engine INTEGER NOT NULL REFERENCES engine (id),
  layout INTEGER NOT NULL REFERENCES layout (id),
  PRIMARY KEY (engine, layout)
) STRICT, WITHOUT ROWID;

-- One row as it came. vals holds a little-endian IEEE 754 double for each
-- column. The id grows by arrival. No foreign keys: they cost a look-up per
-- row, and what removes an engine removes its samples first.
CREATE TABLE sample (
  id     INTEGER PRIMARY KEY,
  engine INTEGER NOT NULL,
  layout INTEGER NOT NULL,
  time   INTEGER NOT NULL,
  step   INTEGER NOT NULL,
  flags  INTEGER NOT NULL,
  vals   BLOB NOT NULL
) STRICT;
CREATE INDEX sample_stream ON sample (engine, layout, time);

CREATE TABLE event (
  id        INTEGER PRIMARY KEY,
  engine    INTEGER NOT NULL REFERENCES engine (id),
  kind      TEXT NOT NULL,
  start     INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  from_step INTEGER NOT NULL,
  to_step   INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  detail    TEXT NOT NULL
) STRICT;
CREATE INDEX event_engine ON event (engine, stop, start);

-- seq is that of the collector's last batch.
CREATE TABLE collector (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  seq  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE position (
  collector INTEGER NOT NULL REFERENCES collector (id),
  source    TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (collector, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE baseline (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  deployment INTEGER NOT NULL REFERENCES deployment (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  note       TEXT NOT NULL,
  start      INTEGER NOT NULL,
  stop       INTEGER NOT NULL,
  UNIQUE (deployment, name)
) STRICT;

-- The audit of captures outlives deployments, so it has their names. times is a
-- JSON object from state to time.
CREATE TABLE capture (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  grp        TEXT NOT NULL,
  deployment TEXT NOT NULL,
  engine     TEXT NOT NULL,
  collector  TEXT NOT NULL,
  asker      TEXT NOT NULL,
  steps      INTEGER NOT NULL,
  output_dir TEXT NOT NULL,
  state      TEXT NOT NULL,
  times      TEXT NOT NULL,
  warning    TEXT NOT NULL,
  error      TEXT NOT NULL,
  hint       TEXT NOT NULL,
  path       TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  trace      TEXT NOT NULL
) STRICT;
CREATE INDEX capture_deployment ON capture (deployment, id);
CREATE INDEX capture_group ON capture (grp, id);
CREATE INDEX capture_active ON capture (id) WHERE state NOT IN ('stored', 'failed', 'cancelled');

CREATE TABLE summary (
  trace TEXT PRIMARY KEY REFERENCES trace (id) ON DELETE CASCADE,
  data  BLOB NOT NULL
) STRICT;

-- +goose Down
DROP TABLE summary;
DROP TABLE capture;
DROP TABLE baseline;
DROP TABLE position;
DROP TABLE collector;
DROP TABLE event;
DROP TABLE sample;
DROP TABLE stream;
DROP TABLE layout;
DROP TABLE series;
DROP TABLE engine;
DROP TABLE deployment;
