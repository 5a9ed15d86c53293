package ledger

import "slices"

// firstNCCLStep is the first step whose NCCL memory is sampled: before it, communicators
// are still being built.
const firstNCCLStep = 10

// NCCLGroup is the device memory that NCCL holds for one communicator of this process.
// Names are distinct: same-named groups carry their tag.
type NCCLGroup struct {
	Name  string
	Bytes int64
}

// NCCLMemory decides when NCCL memory is sampled and whether a sample is worth a line.
// It is owned by the engine thread.
type NCCLMemory struct {
	rank, gpu int
	interval  int64

	sampled  bool
	at       int64
	figures  []NCCLGroup // as last logged
	logged   bool
	lastText string // the error text last logged
}

// NewNCCLMemory samples at the first step ≥ 10, then every interval steps. An interval
// ≤ 0 never samples.
func NewNCCLMemory(rank, gpu, interval int) *NCCLMemory {
	return &NCCLMemory{rank: rank, gpu: gpu, interval: int64(interval)}
}

// Due says whether this step is to be sampled: asking NCCL has a price of its own.
func (n *NCCLMemory) Due(step int64) bool {
	if n.interval <= 0 || step < firstNCCLStep {
		return false
	}
	return !n.sampled || step-n.at >= n.interval
}

// Sample takes what NCCL said at a step that was due, or the error it gave. ok says that
// there is a line to log: the figures differ from those logged last, or the error text
// differs from the one logged last.
func (n *NCCLMemory) Sample(step int64, groups []NCCLGroup, err error) (line Line, ok bool) {
	n.sampled, n.at = true, step
	line = Line{Rank: n.rank, GPU: n.gpu, Step: step, Section: NCCL}
	if err != nil {
		text := err.Error()
		if text == n.lastText {
			return Line{}, false
		}
		n.lastText = text
		line.Texts = []Text{{Key: Unavailable, V: text}}
		return line, true
	}
	if n.logged && slices.Equal(groups, n.figures) {
		return Line{}, false
	}
	n.logged, n.figures = true, append(n.figures[:0], groups...)

	total := int64(0)
	for _, g := range groups {
		total += g.Bytes
	}
	line.Values = append(line.Values,
		Value{Key: "nccl_total", V: gib(total)},
		Value{Key: "nccl_communicators", V: float64(len(groups))})
	for _, g := range groups {
		line.Values = append(line.Values, Value{Key: "nccl_group", Label: g.Name, V: gib(g.Bytes)})
	}
	return line, true
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }
