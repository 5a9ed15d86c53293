package foreign

// Limits of what one reading may cost. Whatever is beyond is left out and counted.
const (
	// maxSeries is the most series read of one text. A vLLM server has some hundreds, a
	// server with 16 ranks and all options some thousands.
	maxSeries = 20_000
	// maxLabels and maxNameBytes bound the labels of a series and the length of each name
	// and value; maxLabelBytes bounds the labels of an unknown series written as one text.
	// With what is put around them they stay below the store's own limits.
	maxLabels     = 32
	maxNameBytes  = 200
	maxLabelBytes = 900
	// maxUnknown is the most values kept under their own names of one engine.
	maxUnknown = 400
	// maxEngines is the most engines behind one address.
	maxEngines = 256
	// maxBadLines is how many lines of a text may be unreadable; then the rest is not read.
	maxBadLines = 32
	// maxReparsed is how many bytes are read again because of unreadable lines.
	maxReparsed = 64 << 20
	// maxRecords is the most iterations read of one drained list. The engine's own queue
	// holds about a thousand.
	maxRecords = 20_000
	// maxLogBytes is the longest log line that is read.
	maxLogBytes = 64 << 10
	// maxPairs is the most "key: value" pairs read of one log line.
	maxPairs = 128
)
