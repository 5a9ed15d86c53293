package curve

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// readJSON reads [[1, 2.5], …] or [{"batch_size": 1, "ms": 2.5}, …].
func readJSON(data []byte, bad problem) (Curve, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		place, reason := jsonPlace(err)
		return Curve{}, bad.at(place, reason, "correct the JSON; NaN and Infinity have no place in it")
	}
	if len(raw) > MaxPoints {
		return Curve{}, bad.at("", fmt.Sprintf("%d points; a curve has at most %d", len(raw), MaxPoints), nextForeign)
	}
	points := make([]Point, 0, len(raw))
	for i, r := range raw {
		p, err := jsonPoint(r)
		if err == nil {
			err = p.check()
		}
		if err != nil {
			return Curve{}, bad.at(fmt.Sprintf("element %d", i+1), err.Error(), nextFix)
		}
		points = append(points, p)
	}
	return newList(points, bad)
}

func jsonPoint(raw json.RawMessage) (Point, error) {
	var batch, ms json.RawMessage
	var pair []json.RawMessage
	var fields struct {
		BatchSize json.RawMessage `json:"batch_size"`
		Ms        json.RawMessage `json:"ms"`
	}
	switch {
	case json.Unmarshal(raw, &pair) == nil && len(pair) == 2:
		batch, ms = pair[0], pair[1]
	case json.Unmarshal(raw, &fields) == nil:
		batch, ms = fields.BatchSize, fields.Ms
	}
	if batch == nil || ms == nil {
		return Point{}, fmt.Errorf("%w: %.60s is neither [batch_size, ms] nor {\"batch_size\": …, \"ms\": …}", ErrPoint, raw)
	}
	return textPoint(string(batch), string(ms))
}

// textPoint reads a point of two numbers as people and programs write them in decimal.
func textPoint(batch, ms string) (Point, error) {
	n, err := strconv.Atoi(batch)
	if err != nil {
		return Point{}, fmt.Errorf("%w: batch_size is %.40q; it must be an integer from 1 to %d", ErrPoint, batch, MaxBatchSize)
	}
	t, err := strconv.ParseFloat(ms, 64)
	// ParseFloat also knows hexadecimal, underscores and words.
	if err != nil || strings.Trim(ms, "0123456789.eE+-") != "" {
		return Point{}, fmt.Errorf("%w: ms is %.40q; it must be a decimal number above 0", ErrPoint, ms)
	}
	return Point{n, t}, nil
}

// readCSV reads lines of batch_size and ms, separated by comma, semicolon or tab; # begins a comment. A header may name
// the columns, then they may come in any order with others beside them.
func readCSV(data []byte, bad problem) (Curve, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = separator(data)
	r.Comment = '#'
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	batchCol, msCol, width := 0, 1, 2 // width 0: as many columns as there are
	var points []Point
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return Curve{}, bad.at(fmt.Sprintf("line %d", parse.Line), parse.Err.Error(), nextFix)
		}
		line, _ := r.FieldPos(0)
		place := fmt.Sprintf("line %d", line)
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
		}
		if first && slices.ContainsFunc(record, isLabel) {
			batchCol, msCol, width = slices.Index(record, "batch_size"), slices.Index(record, "ms"), 0
			if batchCol < 0 || msCol < 0 {
				return Curve{}, bad.at(place, fmt.Sprintf("%.120q does not name the columns batch_size and ms", record), nextForeign)
			}
			continue
		}
		if width > 0 && len(record) != width || max(batchCol, msCol) >= len(record) {
			return Curve{}, bad.at(place, fmt.Sprintf("%d columns; there must be batch_size and ms", len(record)), nextFix)
		}
		p, err := textPoint(record[batchCol], record[msCol])
		if err == nil {
			err = p.check()
		}
		if err != nil {
			return Curve{}, bad.at(place, err.Error(), nextFix)
		}
		if points = append(points, p); len(points) > MaxPoints {
			return Curve{}, bad.at(place, fmt.Sprintf("more than %d points", MaxPoints), nextForeign)
		}
	}
	return newList(points, bad)
}

// separator is what stands between columns in the first line that has any.
func separator(data []byte) rune {
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		if i := bytes.IndexAny(line, ",;\t"); i >= 0 {
			return rune(line[i])
		}
	}
	return ','
}

// isLabel tells a column's name from a number, however wrong the number.
func isLabel(s string) bool {
	if _, err := strconv.ParseFloat(s, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return false
	}
	return strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz_")
}

func newList(points []Point, bad problem) (Curve, error) {
	c, err := New(points)
	if err != nil {
		return Curve{}, bad.at("", err.Error(), nextForeign)
	}
	return c, nil
}
