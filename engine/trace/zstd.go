//go:build !js

package trace

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

func newZstd(src io.Reader) (io.Reader, error) {
	// One goroutine and a bounded window: a hostile file must not choose the memory.
	z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, &Error{Code: "packed_damaged", What: "the zstd data cannot be read: " + err.Error(), Hint: "Try `zstd -t` on the file."}
	}
	return z, nil
}
