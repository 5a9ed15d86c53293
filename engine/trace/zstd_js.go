package trace

import "io"

// newZstd refuses: zstd would double the module that the browser loads.
func newZstd(io.Reader) (io.Reader, error) {
	return nil, &Error{Code: "zstd", What: "zstd-compressed traces are not read in the browser",
		Hint: "Unpack it with `zstd -d`, or read it with `stepscope trace summary FILE`."}
}
