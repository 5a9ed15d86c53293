package curve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

const (
	formatName    = "stepscope-decode-curve"
	formatVersion = 1
	// maxFile bounds what is read of a file, in bytes: MaxPoints points as they are written here.
	maxFile = 4 << 20
)

// File is the content of a curve's file. Plain lists have neither key nor time.
type File struct {
	Key     string    // of the deployment's configuration, see [Key]
	Created time.Time // when the curve was measured, whole seconds
	Curve   Curve
}

// FormatError says what is wrong with a file and where.
type FormatError struct {
	File   string
	Place  string // "line 3", "element 2", "byte 17"; "" for the whole file
	Reason string
	Next   string // what to do
}

// Error gives file, place, reason and next step.
func (e *FormatError) Error() string {
	place := ""
	if e.Place != "" {
		place = ": " + e.Place
	}
	return fmt.Sprintf("%.300q%s: %s; %s", e.File, place, e.Reason, e.Next)
}

// Key is the hash of a deployment's configuration, 64 hexadecimal digits: the same settings, whatever their order, give
// the same key. Put in everything that changes a step's cost, such as model, GPU, parallel sizes, precision and versions.
func Key(config map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(config)) {
		// Lengths keep apart what would read the same in a row.
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(config[name]), config[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// isKey reports whether s can come from Key. Keys become file names.
func isKey(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && s == hex.EncodeToString(raw)
}

// document is the file's JSON.
type document struct {
	Format   string  `json:"format"`
	Version  int     `json:"version"`
	Key      string  `json:"key"`
	Created  string  `json:"created"` // RFC 3339, UTC
	Points   []Point `json:"points"`
	Checksum string  `json:"checksum"` // of all above, as sum makes it
}

// sum notices changed digits, which would still be a curve.
func (d document) sum() string {
	var b []byte
	b = fmt.Appendf(b, "%s\n%d\n%s\n%s\n", d.Format, d.Version, d.Key, d.Created)
	for _, p := range d.Points {
		b = strconv.AppendInt(b, int64(p.BatchSize), 10)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, p.Ms, 'g', -1, 64)
		b = append(b, '\n')
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Encode returns the file's bytes, a few lines per point that a person can read. The file needs a key from [Key] and a
// curve with points.
func (f File) Encode() ([]byte, error) {
	if !isKey(f.Key) {
		return nil, fmt.Errorf("curve: %.80q is not a key of a configuration; make one with Key", f.Key)
	}
	if len(f.Curve.points) == 0 {
		return nil, fmt.Errorf("curve: %w: there are no points", ErrPoint)
	}
	d := document{
		Format: formatName, Version: formatVersion, Key: f.Key,
		Created: f.Created.UTC().Format(time.RFC3339), Points: f.Curve.points,
	}
	d.Checksum = d.sum()
	data, err := json.MarshalIndent(d, "", "  ")
	return append(data, '\n'), err
}

// Read reads a curve's file: our own format, or a plain list of points as CSV (batch_size and ms, with or without a
// header) or JSON (an array of [batch_size, ms] or of objects with these keys). The name only serves the errors. What
// can't be read is a [*FormatError]; errors of r come as they are.
func Read(r io.Reader, name string) (File, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("%.300q: %w", name, err)
	}
	bad := problem{name}
	if len(data) > maxFile {
		return File{}, bad.at("", fmt.Sprintf("longer than %d bytes", maxFile), "that is no decode curve; give another file")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
		return File{}, bad.at("", "empty", "measure the curve again")
	case trimmed[0] == '{':
		return readOwn(data, bad)
	case trimmed[0] == '[':
		c, err := readJSON(data, bad)
		return File{Curve: c}, err
	}
	c, err := readCSV(data, bad)
	return File{Curve: c}, err
}

// problem makes errors about one file.
type problem struct{ file string }

func (p problem) at(place, reason, next string) error {
	return &FormatError{File: p.file, Place: place, Reason: reason, Next: next}
}

const (
	nextForeign = "give a curve's own file, or a plain list as CSV or JSON"
	nextDamaged = "measure the curve again and take this file away"
	nextFix     = "correct it or leave it out"
)

func readOwn(data []byte, bad problem) (File, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		// A foreign object may have fields of the same names with other types.
		var kind struct {
			Format any `json:"format"`
		}
		if json.Unmarshal(data, &kind) == nil && kind.Format != formatName {
			return File{}, bad.at("", "a JSON object of another kind", nextForeign)
		}
		place, reason := jsonPlace(err)
		return File{}, bad.at(place, reason, nextDamaged)
	}
	created, err := time.Parse(time.RFC3339, d.Created)
	switch {
	case d.Format != formatName:
		return File{}, bad.at("", "a JSON object of another kind", nextForeign)
	case d.Version != formatVersion:
		return File{}, bad.at("", fmt.Sprintf("version %d of the format; this program reads version %d", d.Version, formatVersion), "use the program that wrote it")
	case d.Checksum != d.sum():
		return File{}, bad.at("", "its checksum does not fit: damaged, or changed by hand", nextDamaged)
	case !isKey(d.Key):
		return File{}, bad.at("", "its key is no hash of a configuration", nextDamaged)
	case err != nil:
		return File{}, bad.at("", "its time of creation can't be read", nextDamaged)
	}
	c, err := New(d.Points)
	if err != nil {
		return File{}, bad.at("", err.Error(), nextDamaged)
	}
	return File{Key: d.Key, Created: created, Curve: c}, nil
}

// jsonPlace gives where JSON went wrong, and how.
func jsonPlace(err error) (place, reason string) {
	switch e := err.(type) {
	case *json.SyntaxError:
		return fmt.Sprintf("byte %d", e.Offset), e.Error()
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("byte %d", e.Offset), fmt.Sprintf("%s is a %s", e.Field, e.Value)
	}
	return "", err.Error()
}
