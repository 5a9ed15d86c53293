package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"strconv"
)

// num is a number of a record: absent when it is missing, null, or nothing that reads as a
// number.
type num struct {
	v  float64
	ok bool
}

// UnmarshalJSON never fails: a field that another version writes otherwise is absent.
func (n *num) UnmarshalJSON(b []byte) error {
	text := string(bytes.Trim(b, `"`))
	v, err := strconv.ParseFloat(text, 64)
	*n = num{v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)}
	return nil
}

// positive is the number if it is more than 0: fields that a backend does not fill are 0.
func (n num) positive() (float64, bool) { return n.v, n.ok && n.v > 0 }

// part decodes a nested object and ignores what is none, such as null or a text.
type part[T any] struct{ v *T }

func (p *part[T]) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		p.v = new(T)
		if json.Unmarshal(b, p.v) != nil {
			p.v = nil
		}
	}
	return nil
}

// text is a string field; other types are ignored.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(clean(s))
	}
	return nil
}

// record is one iteration as TensorRT-LLM's /metrics tells it. Times are in ms.
type record struct {
	Timestamp text `json:"timestamp"`
	Iter      num  `json:"iter"`
	Rank      num  `json:"rank"`
	DPRank    num  `json:"attentionDpRank"`
	Sequence  num  `json:"statsSequence"`
	Dropped   num  `json:"statsDroppedFrames"`

	IterLatency num `json:"iterLatencyMS"`
	Admission   num `json:"newActiveRequestsQueueLatencyMS"`
	HostTime    num `json:"hostStepTimeMS"`
	PrevDevice  num `json:"prevDeviceStepTimeMS"`
	Forward     num `json:"gpuForwardTimeMS"`

	Active    num `json:"numActiveRequests"`
	New       num `json:"numNewActiveRequests"`
	Queued    num `json:"numQueuedRequests"`
	Completed num `json:"numCompletedRequests"`

	GPUMem    num `json:"gpuMemUsage"`
	CPUMem    num `json:"cpuMemUsage"`
	PinnedMem num `json:"pinnedMemUsage"`

	KV   part[kvStats]   `json:"kvCacheStats"`
	Inf  part[infStats]  `json:"inflightBatchingStats"`
	Spec part[specStats] `json:"specDecodingStats"`
}

type kvStats struct {
	Max    num `json:"maxNumBlocks"`
	Used   num `json:"usedNumBlocks"`
	Reused num `json:"reusedBlocks"`
	Missed num `json:"missedBlocks"`
}

type infStats struct {
	Context   num `json:"numContextRequests"`
	Gen       num `json:"numGenRequests"`
	Paused    num `json:"numPausedRequests"`
	CtxTokens num `json:"numCtxTokens"`
}

type specStats struct {
	Draft    num `json:"numDraftTokens"`
	Accepted num `json:"numAcceptedTokens"`
	Requests num `json:"numRequestsWithDraftTokens"`
	Length   num `json:"acceptanceLength"`
	Overhead num `json:"draftOverhead"`
}

// step is the iteration's number.
func (r *record) step() int64 { return int64(r.Iter.v) }

// valid says whether the record has a usable number.
func (r *record) valid() bool {
	return r.Iter.ok && r.Iter.v >= 0 && r.Iter.v < 1<<53 && r.Iter.v == math.Trunc(r.Iter.v)
}

// rank tells the ranks behind one address apart.
func (r *record) rank() string {
	n := r.DPRank
	if !n.ok {
		n = r.Rank
	}
	if !n.ok || n.v < 0 || n.v >= maxEngines || n.v != math.Trunc(n.v) {
		return "0"
	}
	return strconv.Itoa(int(n.v))
}

// kind says whether the iteration had prompt requests, or generated only.
func (r *record) kind() (prompt, decode bool) {
	if r.Inf.v == nil || !r.Inf.v.Context.ok {
		return false, false
	}
	return r.Inf.v.Context.v > 0, r.Inf.v.Context.v == 0 && r.Inf.v.Gen.v > 0
}

// print tells a record read twice from another one of the same number.
func (r *record) print() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, r.Timestamp, r.Sequence, r.IterLatency, r.HostTime, r.Active, r.Queued)
	return h.Sum64()
}

// errNotList is what parseRecords returns for JSON that holds no records.
var errNotList = errors.New("no list of objects")

// parseRecords reads a list of records, or records one after the other. What comes before
// a fault is kept; bad counts elements that are no records.
func parseRecords(body []byte) (records []record, bad int, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	list := len(body) > 0 && body[0] == '['
	if list {
		if _, err := d.Token(); err != nil {
			return nil, 0, err
		}
	}
	for d.More() {
		if len(records)+bad >= maxRecords {
			return records, bad, fmt.Errorf("more than %d records", maxRecords)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return records, bad, err
		}
		var r record
		if raw[0] != '{' || json.Unmarshal(raw, &r) != nil || !r.valid() {
			bad++
			continue
		}
		records = append(records, r)
	}
	if list {
		if _, err := d.Token(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return records, bad, err
		}
	}
	if len(records) == 0 && bad > 0 {
		return nil, bad, errNotList
	}
	return records, bad, nil
}
