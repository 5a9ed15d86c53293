package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnknownMetric is a key without a definition.
type UnknownMetric struct {
	Key  string   // as asked for, cut; untrusted
	Near []string // keys that exist, the nearest first
}

func (e *UnknownMetric) Error() string {
	return fmt.Sprintf("there is no metric %q; the nearest are %s", e.Key, strings.Join(e.Near, ", "))
}

// CheckMetrics refuses keys without a definition, with an UnknownMetric.
func CheckMetrics(keys []string) error {
	for _, k := range keys {
		if _, ok := definition(k); !ok {
			return &UnknownMetric{Key: fmt.Sprintf("%.40s", k), Near: nearest(k, 3)}
		}
	}
	return nil
}

// maxNear bounds the length of a key that near ones are looked for.
const maxNear = 64

// nearest lists the keys that are the least edits away. Those that have all of it in them
// come first.
func nearest(key string, n int) []string {
	key = strings.ToLower(key[:min(len(key), maxNear)])
	keys := order()
	distance := make(map[string]int, len(keys))
	for _, k := range keys {
		low := strings.ToLower(k)
		distance[k] = edits(key, low)
		if len(key) >= 3 && strings.Contains(low, key) {
			distance[k] -= 1000
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	return keys[:min(n, len(keys))]
}

// edits is the number of bytes to insert, delete or replace between two texts.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
