package config

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
)

// maxFile bounds a configuration file.
const maxFile = 4 << 20

// Load reads a configuration file. Errors name the file, the line and what to do.
func Load(path string) (*Config, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("configuration: %s has more than %d bytes", path, maxFile)
	}
	return text, nil
}

// File watches a configuration file. Its contents count, not its time: an editor may write it twice, a mount may turn times
// back.
type File struct {
	path string
	sum  [sha256.Size]byte
	err  string
}

// NewFile watches a file whose present contents are in use.
func NewFile(path string) *File {
	f := &File{path: path}
	if text, err := readFile(path); err == nil {
		f.sum = sha256.Sum256(text)
	}
	return f
}

// Changed reads the file. changed is true once for each change, also of what is wrong with it.
func (f *File) Changed() (c *Config, changed bool, err error) {
	text, err := readFile(f.path)
	if err != nil {
		changed = err.Error() != f.err
		f.err = err.Error()
		f.sum = [sha256.Size]byte{}
		return nil, changed, err
	}
	f.err = ""
	sum := sha256.Sum256(text)
	if sum == f.sum {
		return nil, false, nil
	}
	f.sum = sum
	if c, err = Parse(text); err != nil {
		err = fmt.Errorf("%s: %w", f.path, err)
	}
	return c, true, err
}
