package trace

import "strconv"

func itoa(v int64) string { return strconv.FormatInt(v, 10) }

// describe says in words what a file begins with.
func describe(b []byte) string {
	for _, m := range magics {
		if len(b) >= len(m.bytes) && string(b[:len(m.bytes)]) == m.bytes {
			return m.what
		}
	}
	if len(b) > 0 && b[0] > ' ' && b[0] < 0x7f {
		n := 1
		for n < len(b) && n < 16 && b[n] >= ' ' && b[n] < 0x7f {
			n++
		}
		return strconv.Quote(string(b[:n]))
	}
	return "binary data"
}

// hintFor says what to do with a file that begins with b.
func hintFor(b []byte) string {
	for _, m := range magics {
		if len(b) >= len(m.bytes) && string(b[:len(m.bytes)]) == m.bytes {
			return m.hint
		}
	}
	return "Expected a Chrome trace: a JSON object with \"traceEvents\", or a JSON array of events, plain or gzipped."
}

const unpackFirst = "Unpack it first and open the .json inside."

var magics = []struct{ bytes, what, hint string }{
	{"SQLite format 3", "a SQLite database", "Nsight Systems databases are not read: export a Chrome trace from the PyTorch profiler instead."},
	{"PK\x03\x04", "a ZIP archive", unpackFirst},
	{"\x28\xb5\x2f\xfd", "zstd-compressed data", "Unpack it with `zstd -d`, or read it natively with `stepscope trace summary FILE`."},
	{"BZh", "bzip2-compressed data", "Unpack it with `bunzip2`."},
	{"\xfd7zXZ", "xz-compressed data", "Unpack it with `unxz`."},
	{"7z\xbc\xaf", "a 7-Zip archive", unpackFirst},
	{"\x80\x04", "a Python pickle", "That is a memory snapshot, not a trace: open the file that ends in .trace.json."},
	{"<", "HTML or XML", "A login or error page was saved instead of the trace: download it again."},
	{"\x0a", "a protobuf", "Perfetto's binary format is not read: convert it with `traceconv json`."},
}
