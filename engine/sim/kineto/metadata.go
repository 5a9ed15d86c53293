package kineto

// ProcessName writes a process's name; ts is any time of the trace.
func (w *Writer) ProcessName(pid, ts int64, name string) {
	w.metaText("process_name", pid, 0, ts, "name", name)
}

// ProcessLabels writes a process's labels: "CPU" or "GPU 3".
func (w *Writer) ProcessLabels(pid, ts int64, labels string) {
	w.metaText("process_labels", pid, 0, ts, "labels", labels)
}

// ProcessSortIndex writes a process's place in a viewer.
func (w *Writer) ProcessSortIndex(pid, ts, index int64) {
	w.metaIndex("process_sort_index", pid, 0, ts, index)
}

// ThreadName writes a thread's or a stream's name.
func (w *Writer) ThreadName(pid, tid, ts int64, name string) {
	w.metaText("thread_name", pid, tid, ts, "name", name)
}

// ThreadSortIndex writes a thread's place in a viewer.
func (w *Writer) ThreadSortIndex(pid, tid, ts, index int64) {
	w.metaIndex("thread_sort_index", pid, tid, ts, index)
}

func (w *Writer) metaText(kind string, pid, tid, ts int64, key, text string) {
	w.meta(kind, pid, tid, ts, key)
	b := append(w.buf, '"')
	b = appendText(b, text)
	w.buf = append(b, "\"\n    }\n  }"...)
}

func (w *Writer) metaIndex(kind string, pid, tid, ts, index int64) {
	w.meta(kind, pid, tid, ts, "sort_index")
	w.buf = append(appendInt(w.buf, index), endArgs...)
}

func (w *Writer) meta(kind string, pid, tid, ts int64, key string) {
	w.begin("\n  {\n    \"name\": \"")
	b := append(w.buf, kind...)
	b = append(b, `", "ph": "M", "ts": `...)
	b = appendMicros(b, ts)
	b = append(b, `, "pid": `...)
	b = appendInt(b, pid)
	b = append(b, `, "tid": `...)
	b = appendInt(b, tid)
	b = append(b, ",\n    \"args\": {\n      \""...)
	b = append(b, key...)
	w.buf = append(b, `": `...)
}

// Window writes what Kineto ends its events with: the profiler's own slice, its place, and the instants at which the
// recording began and ended.
func (w *Writer) Window(start, end int64) {
	w.count("Trace")
	w.begin("\n  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ")
	b := appendMicros(w.buf, start)
	b = append(b, `, "dur": `...)
	b = appendMicros(b, end-start)
	w.buf = append(b, ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0\n    }\n  }"...)

	w.begin("\n  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ")
	b = appendMicros(w.buf, start)
	w.buf = append(b, ",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  }"...)

	w.Instant("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", start)
	w.Instant("Record Window End", "", "", end)
}

// Instant writes an instant of global scope; Kineto names its process and thread by text.
func (w *Writer) Instant(name, pid, tid string, ts int64) {
	w.begin("\n  {\n    \"name\": \"")
	b := appendText(w.buf, name)
	b = append(b, "\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \""...)
	b = appendText(b, pid)
	b = append(b, `", "tid": "`...)
	b = appendText(b, tid)
	b = append(b, `", "ts": `...)
	b = appendMicros(b, ts)
	w.buf = append(b, endEvent...)
}
