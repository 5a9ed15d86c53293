-- +goose Up

-- Two processes may find the same migration undone. The slower one's
-- transaction then fails here, whatever the migration does.
CREATE UNIQUE INDEX goose_version_once ON goose_db_version (version_id);

-- A run of bytes. While it is being received (staged) sha256 is NULL and state
-- holds the hash so far, written in the transaction that writes the rows it
-- covers: after a kill both stand at the same byte. dead: to be removed; its
-- rows go in pieces, so that no long transaction keeps uploads waiting.
-- AUTOINCREMENT: an id never comes back, so an open reader can't meet the
-- bytes of another blob.
CREATE TABLE blob (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  sha256  TEXT UNIQUE,
  bytes   INTEGER NOT NULL DEFAULT 0,
  kind    TEXT NOT NULL DEFAULT '',
  state   BLOB,
  touched INTEGER NOT NULL,
  dead    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Row n holds the bytes from n MiB on, all rows but the last are full. Not
-- WITHOUT ROWID: with large rows that triples the size.
CREATE TABLE chunk (
  blob INTEGER NOT NULL REFERENCES blob (id),
  n    INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (blob, n)
) STRICT;

-- Sum of blob.bytes, so that the quota costs one read, whatever is stored.
CREATE TABLE usage (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO usage VALUES (1, 0);

-- +goose StatementBegin
CREATE TRIGGER blob_insert AFTER INSERT ON blob BEGIN
  UPDATE usage SET bytes = bytes + new.bytes;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blob_update AFTER UPDATE OF bytes ON blob BEGIN
  UPDATE usage SET bytes = bytes + new.bytes - old.bytes;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blob_delete AFTER DELETE ON blob BEGIN
  UPDATE usage SET bytes = bytes - old.bytes;
END;
-- +goose StatementEnd

-- id is the blob's sha256. Times are nanoseconds since 1970. search is name,
-- label and note, folded by the program: SQLite folds ASCII only.
CREATE TABLE trace (
  id      TEXT PRIMARY KEY,
  blob    INTEGER NOT NULL UNIQUE REFERENCES blob (id),
  name    TEXT NOT NULL,
  label   TEXT NOT NULL,
  note    TEXT NOT NULL,
  search  TEXT NOT NULL,
  created INTEGER NOT NULL,
  deleted INTEGER
) STRICT;
CREATE INDEX trace_newest ON trace (created DESC, id DESC) WHERE deleted IS NULL;
CREATE INDEX trace_deleted ON trace (deleted) WHERE deleted IS NOT NULL;

-- blob is NULL once the upload has become the trace named beside it.
CREATE TABLE upload (
  id       TEXT PRIMARY KEY,
  blob     INTEGER UNIQUE REFERENCES blob (id),
  name     TEXT NOT NULL,
  label    TEXT NOT NULL,
  note     TEXT NOT NULL,
  length   INTEGER NOT NULL,
  expires  INTEGER NOT NULL,
  trace    TEXT,
  existing INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX upload_expires ON upload (expires);

-- +goose Down
DROP TABLE upload;
DROP TABLE trace;
DROP TABLE usage;
DROP TABLE chunk;
DROP TABLE blob;
DROP INDEX goose_version_once;
