-- +goose Up

-- A wide block has chunk = 0 and holds the values of its series itself, as many as
-- chunks says: it is one row to write, and none to look up, for the newest hours,
-- whose rows are packed every few minutes. folded = -1 marks a part of an hour, 0 an
-- hour. Blocks of more than an hour have a chunk and a sum for each series.
CREATE INDEX series_block_wide ON series_block (engine, first) WHERE chunk = 0;

-- +goose Down
DROP INDEX series_block_wide;
DELETE FROM series_block WHERE chunk = 0;
