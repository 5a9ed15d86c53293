package sim

import (
	"errors"

	"github.com/stepscope/stepscope/engine/ledger"
)

// recentRequests is how many finished requests an engine remembers the lengths of.
const recentRequests = 256

// lengths is a window over the lengths of finished requests.
type lengths struct {
	ring [recentRequests]struct{ in, out int64 }
	next int
	sum  ledger.Lengths
}

func (l *lengths) add(q *sequence) {
	at := &l.ring[l.next%recentRequests]
	if l.next >= recentRequests {
		l.sum.InputTokens -= at.in
		l.sum.OutputTokens -= at.out
	} else {
		l.sum.Requests++
	}
	l.next++
	at.in, at.out = int64(q.prompt), int64(q.generated)
	l.sum.InputTokens += at.in
	l.sum.OutputTokens += at.out
}

// at returns the communicators that are there at a step, or what asking for them gives.
func (n *NCCL) at(step int64) ([]ledger.NCCLGroup, error) {
	if n.Unavailable != "" {
		return nil, errors.New(n.Unavailable)
	}
	var groups []ledger.NCCLGroup
	for _, g := range n.Groups {
		if int64(g.From) <= step {
			groups = append(groups, ledger.NCCLGroup{Name: g.Name, Bytes: int64(g.MiB * (1 << 20))})
		}
	}
	return groups, nil
}
