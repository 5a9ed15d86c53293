package tail

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
)

const (
	// headBytes of a generation identify it.
	headBytes = 1024
	// tailBytes before the reading place must still be there before reading goes on.
	tailBytes = 256
	// maxDone is how many finished generations are remembered, so that they are not taken for new ones.
	maxDone = 12
	// maxPosition bounds a stored position that is read back.
	maxPosition = 16 << 10
)

// mark is a fingerprint of N bytes.
type mark struct {
	N   int    `json:"n"`
	Sum uint64 `json:"s,string"`
}

func markOf(b []byte) mark {
	h := fnv.New64a()
	h.Write(b)
	return mark{len(b), h.Sum64()}
}

// beginsOf marks the beginnings of b that are shorter than b.
func beginsOf(b []byte) (list []mark) {
	for n := 32; n < len(b); n *= 2 {
		list = append(list, markOf(b[:n]))
	}
	return list
}

// cursor is how far a generation has been read.
type cursor struct {
	Dev  uint64 `json:"d,omitempty"`
	Ino  uint64 `json:"i,omitempty"`
	Off  int64  `json:"o"`
	Head mark   `json:"h"` // of the first headBytes, or of the first Off if those are fewer
	Tail mark   `json:"t"` // of the tailBytes before Off
	Mod  int64  `json:"m"` // the file's modification time when it was looked at last, ns
	// Begins are marks of the beginnings of 32, 64 … bytes: with them a copy that ends before the reading place is known.
	Begins []mark `json:"b,omitempty"`
	Skip   bool   `json:"x,omitempty"` // Off is within a line that is too long to be read
	Till   int64  `json:"e,omitempty"` // of a file that was rotated away: until when it is looked at, ns
}

// position is all that is known about a path.
type position struct {
	Version int      `json:"v"`
	Now     cursor   `json:"c"`
	Old     []cursor `json:"old,omitempty"`  // rotated away, perhaps still written to
	Done    []mark   `json:"done,omitempty"` // heads of finished generations, oldest first
}

func (p *position) String() string {
	p.Version = 1
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers and texts always marshal
	}
	return string(text)
}

// parsePosition reads what String wrote. It may come from another version or from a stranger.
func parsePosition(text string) (position, error) {
	var p position
	if len(text) > maxPosition {
		return p, errors.New("stored position: too long")
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("stored position: %w", err)
	}
	if p.Version != 1 {
		return p, fmt.Errorf("stored position: version %d is not known here", p.Version)
	}
	for _, c := range append([]cursor{p.Now}, p.Old...) {
		head, tail := min(c.Off, headBytes), min(c.Off, tailBytes)
		if len(c.Begins) > headBytes/32 {
			return p, fmt.Errorf("stored position: %d beginnings", len(c.Begins))
		}
		if c.Off < 0 || int64(c.Head.N) != head || int64(c.Tail.N) != tail {
			return p, fmt.Errorf("stored position: offset %d does not fit its fingerprints", c.Off)
		}
	}
	if len(p.Done) > maxDone {
		p.Done = p.Done[len(p.Done)-maxDone:]
	}
	return p, nil
}
