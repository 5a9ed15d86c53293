package gpu

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/store"
)

const section = "gpu"

const (
	gib = 1 << 30
	gb  = 1e9
)

// counter turns a growing count into a rate.
type counter struct {
	value float64
	at    time.Time
}

// rate is the growth per second since the call before: NaN the first time, after a reset and while the count is absent.
func (c *counter) rate(value float64, at time.Time) float64 {
	before := *c
	if math.IsNaN(value) {
		return value
	}
	c.value, c.at = value, at
	seconds := at.Sub(before.at).Seconds()
	if before.at.IsZero() || value < before.value || seconds <= 0 {
		return math.NaN()
	}
	return (value - before.value) / seconds
}

// rows makes the rows of one card. A column is there from the first time that it has a value, so that what a card
// never tells takes no room.
type rows struct {
	seen   map[store.Column]bool
	layout []store.Column // sorted; replaced, never changed
	told   int            // readings; rates come with the second
}

// value is a column's value at a reading.
type value struct {
	store.Column
	v float64
}

// add appends a card's row to a batch and returns how many values it has.
func (rs *rows) add(b *store.Batch, engine int, c *card, r Reading, at time.Time) int64 {
	values := map[store.Column]float64{}
	for _, x := range cardValues(c, r, at) {
		if !math.IsNaN(x.v) {
			values[x.Column] = x.v
		}
	}
	rs.told++
	if rs.seen == nil {
		rs.seen = map[store.Column]bool{}
	}
	grown := false
	for col := range values {
		if !rs.seen[col] {
			rs.seen[col], grown = true, true
		}
	}
	// Processes come and go: columns of former ones would pile up.
	if len(rs.seen) > maxColumns {
		rs.seen = map[store.Column]bool{}
		for col := range values {
			rs.seen[col] = true
		}
	}
	if grown {
		rs.layout = slices.SortedFunc(maps.Keys(rs.seen), func(a, b store.Column) int {
			return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(a.Label, b.Label))
		})
	}
	row := store.Row{Engine: engine, Layout: len(b.Layouts), Time: at.UnixNano(), Step: -1, Values: make([]float64, len(rs.layout))}
	var n int64
	for i, col := range rs.layout {
		v, ok := values[col]
		if !ok {
			v = math.NaN()
		} else {
			n++
		}
		row.Values[i] = v
	}
	b.Layouts = append(b.Layouts, store.Layout{Section: section, Columns: rs.layout})
	b.Rows = append(b.Rows, row)
	return n
}

// maxColumns bounds a card's layout. About 30 are plain ones, the others processes and XID numbers.
const maxColumns = 256

// cardValues are a reading's values under their keys. The label is the card's UUID, before a label of the metric's own:
// an API server has several cards.
func cardValues(c *card, r Reading, at time.Time) []value {
	var list []value
	put := func(key string, v float64) { list = append(list, value{store.Column{Metric: key, Label: c.UUID}, v}) }
	sub := func(key, label string, v float64) {
		list = append(list, value{store.Column{Metric: key, Label: c.UUID + " " + label}, v})
	}
	put("gpu_util", r.Util)
	put("gpu_mem_util", r.MemUtil)
	put("gpu_mem_used", r.MemUsed/gib)
	put("gpu_mem_total", r.MemTotal/gib)
	put("gpu_power", r.Power)
	put("gpu_power_limit", r.PowerLimit)
	put("gpu_sm_clock", r.SMClock)
	put("gpu_mem_clock", r.MemClock)
	put("gpu_temp", r.Temp)
	put("gpu_mem_temp", r.MemTemp)
	put("gpu_pcie_tx", r.PCIeTx/gb)
	put("gpu_pcie_rx", r.PCIeRx/gb)
	put("gpu_nvlink_tx", c.nvlink[0].rate(r.NVLinkTx, at)/gb)
	put("gpu_nvlink_rx", c.nvlink[1].rate(r.NVLinkRx, at)/gb)
	sub("gpu_ecc", "corrected", r.Corrected)
	sub("gpu_ecc", "uncorrected", r.Uncorrect)
	for i, reason := range reasons {
		set := r.Throttle>>i&1 == 1
		switch rare := i >= commonReasons && !c.rows.seen[store.Column{Metric: "gpu_throttle", Label: c.UUID + " " + reason}]; {
		case !r.Throttled || rare && !set:
		case set:
			sub("gpu_throttle", reason, 1)
		default:
			sub("gpu_throttle", reason, 0)
		}
	}
	for xid, n := range r.XIDs {
		sub("gpu_xid", strconv.FormatUint(xid, 10), float64(n))
	}
	for name, bytes := range byName(r.Processes) {
		sub("gpu_process_mem", name, bytes/gib)
	}
	return list
}

// maxProcesses bounds the processes of a card that are told apart.
const maxProcesses = 16

// byName sums the memory of processes of the same name: ids are others after each restart, names are not.
func byName(list []Process) map[string]float64 {
	// The largest ones keep their names.
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Process) int { return cmp.Compare(b.Bytes, a.Bytes) })
	sums := map[string]float64{}
	for _, p := range list {
		if math.IsNaN(p.Bytes) {
			continue
		}
		name := processName(p.PID)
		if _, ok := sums[name]; !ok && len(sums) >= maxProcesses {
			name = "other"
		}
		sums[name] += p.Bytes
	}
	return sums
}

// processName is what a process calls itself: text of its own choosing. In a container, other containers' processes have
// ids and no names.
func processName(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	name := plain(strings.TrimSpace(string(text)))
	if err != nil || name == "" {
		return fmt.Sprintf("pid %d", pid)
	}
	return name
}

// plain keeps the printable ASCII of a stranger's text.
func plain(s string) string {
	const most = 96 // bytes, more than a driver's names and a process' 15 have
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), most)]
}

// keys are the metrics that every card may tell.
var keys = []string{
	"gpu_util", "gpu_mem_util", "gpu_mem_used", "gpu_mem_total", "gpu_power", "gpu_power_limit", "gpu_sm_clock", "gpu_mem_clock",
	"gpu_temp", "gpu_mem_temp", "gpu_pcie_tx", "gpu_pcie_rx", "gpu_nvlink_tx", "gpu_nvlink_rx", "gpu_ecc", "gpu_throttle",
}

// missing lists what the card has never told.
func (rs *rows) missing() []string {
	if rs.told < 2 {
		return nil
	}
	told := map[string]bool{}
	for col := range rs.seen {
		told[col.Metric] = true
	}
	var list []string
	for _, key := range keys {
		if !told[key] {
			list = append(list, key+": this card or its driver does not tell it")
		}
	}
	return list
}
