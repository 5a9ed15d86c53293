package trace

import "strconv"

func itoa(v int64) string { return strconv.FormatInt(v, 10) }

// notTrace says what an input is that begins with b, and what to do with it.
func notTrace(b []byte, off int64) *Error {
	for _, m := range magics {
		if len(b) >= len(m.bytes) && string(b[:len(m.bytes)]) == m.bytes {
			return &Error{Code: m.reason, What: "this is not a trace: it begins with " + m.what, Hint: m.hint, Offset: off}
		}
	}
	e := &Error{
		Code: "not_trace", Offset: off,
		Hint: "Expected a Chrome trace: a JSON object with \"traceEvents\", or a JSON array of events, plain or gzipped.",
	}
	if len(b) > 0 && b[0] > ' ' && b[0] < 0x7f {
		n := 1
		for n < len(b) && n < 16 && b[n] >= ' ' && b[n] < 0x7f {
			n++
		}
		e.Near = string(b[:n])
		e.What = "this is not a trace: it begins with " + strconv.Quote(e.Near)
	} else {
		e.What = "this is not a trace: it begins with binary data"
	}
	return e
}

const unpackFirst = "Unpack it first and open the .json inside."

var magics = []struct{ bytes, reason, what, hint string }{
	{"SQLite format 3", "sqlite", "a SQLite database", "Nsight Systems databases are not read: export a Chrome trace from the PyTorch profiler instead."},
	{"PK\x03\x04", "zip", "a ZIP archive", unpackFirst},
	{"\x28\xb5\x2f\xfd", "zstd", "zstd-compressed data", "Unpack it with `zstd -d`, or read it natively with `stepscope trace summary FILE`."},
	{"BZh", "bzip2", "bzip2-compressed data", "Unpack it with `bunzip2`."},
	{"\xfd7zXZ", "xz", "xz-compressed data", "Unpack it with `unxz`."},
	{"7z\xbc\xaf", "7zip", "a 7-Zip archive", unpackFirst},
	{"\x80\x04", "pickle", "a Python pickle", "That is a memory snapshot, not a trace: open the file that ends in .trace.json."},
	{"<", "markup", "HTML or XML", "A login or error page was saved instead of the trace: download it again."},
	{"\x0a", "protobuf", "a protobuf", "Perfetto's binary format is not read: convert it with `traceconv json`."},
}
