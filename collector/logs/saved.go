package logs

import "encoding/json"

// saved is what is stored of a file: how far it was read, and what was counted until there. Both change in one
// transaction, so that the sums are right after any restart.
type saved struct {
	Position json.RawMessage `json:"p"` // package tail's, JSON too
	Counts   [5]int64        `json:"n"` // in the order of Counts' fields
}

// encodeSaved is read back by decodeSaved. Without a position nothing is known and nothing is kept.
func encodeSaved(position string, c Counts) string {
	text, err := json.Marshal(saved{json.RawMessage(position), [...]int64{c.Lines, c.Samples, c.Foreign, c.Unreadable, c.Texts}})
	if err != nil {
		panic(err) // numbers and what package tail has marshalled always do
	}
	return string(text)
}

// decodeSaved reads what encodeSaved wrote, or the position alone, as former versions stored it.
func decodeSaved(text string) (position string, c Counts) {
	var s saved
	if json.Unmarshal([]byte(text), &s) != nil || len(s.Position) == 0 {
		return text, c
	}
	for _, n := range s.Counts {
		if n < 0 { // nothing of ours
			return string(s.Position), c
		}
	}
	return string(s.Position), Counts{s.Counts[0], s.Counts[1], s.Counts[2], s.Counts[3], s.Counts[4]}
}

// plus is c and what came between two states of a Lines.
func (c Counts) plus(after, before Counts) Counts {
	return Counts{
		Lines: c.Lines + after.Lines - before.Lines, Samples: c.Samples + after.Samples - before.Samples,
		Foreign: c.Foreign + after.Foreign - before.Foreign, Unreadable: c.Unreadable + after.Unreadable - before.Unreadable,
		Texts: c.Texts + after.Texts - before.Texts,
	}
}
