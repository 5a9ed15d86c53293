package spool

import "testing"

// BenchmarkAppend measures batches of 200 rows into a spool, each with its
// fsync, while the server keeps up.
func BenchmarkAppend(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	data := batch(1, 200)
	for b.Loop() {
		data.Seq++
		if err := s.Append(data); err != nil {
			b.Fatal(err)
		}
		s.Ack(data.Seq)
	}
}
