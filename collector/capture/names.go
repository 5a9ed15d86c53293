package capture

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
)

// fileInfo is what a trace's name says about it.
type fileInfo struct {
	rank int       // −1 unknown
	part int       // data-parallel index, −1 unknown
	time time.Time // when it was recorded, zero unknown
	ip   string    // of the node, "" unknown
}

// matcher tells an engine's traces by their names.
type matcher func(name string) (fileInfo, bool)

// deepInferNames are the files of one engine. What is not known of it is not asked for.
func deepInferNames(gpu, rank int, zone *time.Location) matcher {
	if zone == nil {
		zone = time.Local
	}
	return func(name string) (fileInfo, bool) {
		f, err := profile.ParseFileName(name, zone)
		if err != nil || gpu >= 0 && f.GPU != gpu || rank >= 0 && f.Rank != rank {
			return fileInfo{}, false
		}
		return fileInfo{rank: f.Rank, part: -1, time: f.Time, ip: f.IP.String()}, true
	}
}

var (
	// torchName is what torch's own handler appends to a worker's name.
	torchName = regexp.MustCompile(`^(.+)\.(\d{16,20})\.pt\.trace\.json(\.gz)?$`)
	// vllmRank ends a worker's name: "dp0_pp0_tp0_dcp0_ep0_rank0", "rank0" or "{instance}-rank-0".
	vllmRank = regexp.MustCompile(`(?:^|[_-])rank-?(\d{1,6})$`)
	vllmPart = regexp.MustCompile(`(?:^|_)dp(\d{1,6})_`)

	sglangTail = regexp.MustCompile(`^-TP-(\d{1,6})(?:-DP-(\d{1,6}))?(?:-PP-\d{1,6})?(?:-EP-\d{1,6})?(?:-(?:EXTEND|DECODE|prefill|decode))?\.trace\.json(?:\.gz)?$`)

	trtName = regexp.MustCompile(`^trtllm-trace-(\d{9,11})-[0-9a-f]{8}-rank-(\d{1,6})\.json(?:\.gz)?$`)
)

// vllmNames are worker traces of any vLLM. The frontend's trace has the CPU work of the API server only and is left.
func vllmNames(name string) (fileInfo, bool) {
	m := torchName.FindStringSubmatch(name)
	if m == nil || strings.HasSuffix(m[1], ".async_llm") {
		return fileInfo{}, false
	}
	f := fileInfo{rank: -1, part: -1}
	if r := vllmRank.FindStringSubmatch(m[1]); r != nil {
		f.rank = number(r[1])
	}
	if p := vllmPart.FindStringSubmatch(m[1]); p != nil {
		f.part = number(p[1])
	}
	if ns, err := strconv.ParseInt(m[2], 10, 64); err == nil {
		f.time = time.Unix(0, ns)
	}
	return f, true
}

// sglangNames are the per-rank files of one profile id. The merged file is left: its ranks share flow ids.
func sglangNames(profileID string) matcher {
	return func(name string) (fileInfo, bool) {
		_, tail, ok := strings.Cut(name, profileID)
		if !ok || strings.HasPrefix(name, "merged-") {
			return fileInfo{}, false
		}
		m := sglangTail.FindStringSubmatch(tail)
		if m == nil {
			return fileInfo{}, false
		}
		f := fileInfo{rank: number(m[1]), part: -1}
		if m[2] != "" {
			f.part = number(m[2])
		}
		return f, true
	}
}

func trtNames(name string) (fileInfo, bool) {
	m := trtName.FindStringSubmatch(name)
	if m == nil {
		return fileInfo{}, false
	}
	sec, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return fileInfo{}, false
	}
	// The name has whole seconds only: the end of that second is the latest it can mean.
	return fileInfo{rank: number(m[2]), part: -1, time: time.Unix(sec, 999_999_999)}, true
}

// number reads digits that a pattern has bounded.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
