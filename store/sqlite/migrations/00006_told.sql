-- +goose Up

-- told is a JSON object: what warning, error and hint say by codes, for other languages.
ALTER TABLE capture ADD COLUMN told TEXT NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE capture DROP COLUMN told;
