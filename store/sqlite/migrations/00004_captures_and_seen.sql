-- +goose Up

-- more is a JSON array of ids of traces.
ALTER TABLE capture ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE capture ADD COLUMN more TEXT NOT NULL DEFAULT '[]';

-- Which columns of the layout ever had a value: a bit for each, the first column
-- in the lowest bit of the first byte. Columns without are not looked for. Of
-- streams from before this, all may have had one.
ALTER TABLE stream ADD COLUMN seen BLOB NOT NULL DEFAULT x'';
UPDATE stream SET seen = (SELECT unhex(replace(hex(zeroblob((json_array_length(columns) + 7) / 8)), '00', 'FF')) FROM layout WHERE id = layout);

-- +goose Down
ALTER TABLE stream DROP COLUMN seen;
ALTER TABLE capture DROP COLUMN more;
ALTER TABLE capture DROP COLUMN note;
