-- +goose Up

-- When and how the rows of one engine were taken, in pieces of at most an hour,
-- as package store/chunk packs them. All series whose values came in these rows
-- share it. A loose block has one piece; folding makes one block of those of six
-- hours (folded = 1), then of a day (2). Its chunks have the ids from chunk on. Of two blocks of an engine's day
-- that have a series in common, the one with the greater id came later.
CREATE TABLE series_block (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  engine INTEGER NOT NULL,
  first  INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  folded INTEGER NOT NULL,
  chunk  INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  data   BLOB NOT NULL
) STRICT;
CREATE INDEX series_block_engine ON series_block (engine, first, last);
CREATE INDEX series_block_last ON series_block (last);
CREATE INDEX series_block_loose ON series_block (first, engine) WHERE folded < 2;

-- The values of one series in a block, piece by piece.
CREATE TABLE series_chunk (
  id     INTEGER PRIMARY KEY,
  series INTEGER NOT NULL,
  data   BLOB NOT NULL
) STRICT;

-- What a chunk's values come to, piece by piece: number, least, most, sum, first
-- and last. Queries over weeks read nothing else. first is the block's. Rows are
-- small, so that a series lies together, year by year.
CREATE TABLE series_sum (
  engine INTEGER NOT NULL,
  series INTEGER NOT NULL,
  first  INTEGER NOT NULL,
  block  INTEGER NOT NULL,
  chunk  INTEGER NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (engine, series, first, block)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE series_sum;
DROP TABLE series_chunk;
DROP TABLE series_block;
