package gunzip

import (
	"bytes"
	stdlib "compress/gzip"
	"testing"
)

// small are short files with every kind of block, header fields and two members.
func small(t testing.TB) map[string][]byte {
	plain, _ := capture()
	text := plain[:3000]
	files := map[string][]byte{
		"dynamic": pack(t, text, 6),
		"fixed":   pack(t, []byte("abcabcabcabcabc, said the fixed code"), 9),
		"stored":  pack(t, noise(300), 6),
		"huffman": pack(t, text[:900], stdlib.HuffmanOnly),
		"skewed":  pack(t, skewed(2000), 6),
		"zeros":   pack(t, make([]byte, 3000), 6),
	}
	files["fields"] = append(helloMember(flagExtra|flagName|flagComment, "\x02\x00abname\x00comment\x00"), files["fixed"]...)
	files["members"] = bytes.Join([][]byte{files["stored"], files["dynamic"], files["fixed"]}, nil)
	return files
}

func TestEveryTruncation(t *testing.T) {
	for name, packed := range small(t) {
		t.Run(name, func(t *testing.T) {
			all, _ := agree(t, packed)
			for n := range packed {
				got, c := agree(t, packed[:n])
				if c != cut && c != whole || !bytes.HasPrefix(all, got) {
					t.Fatalf("first %d of %d bytes: %d bytes, %s", n, len(packed), len(got), c)
				}
			}
		})
	}
}

func TestEveryCorruption(t *testing.T) {
	for name, packed := range small(t) {
		t.Run(name, func(t *testing.T) {
			flips := []byte{0x01, 0x10, 0x80, 0xff}
			if testing.Short() {
				flips = flips[3:]
			}
			seen := map[class]int{}
			for i := range packed {
				for _, flip := range flips {
					bad := bytes.Clone(packed)
					bad[i] ^= flip
					_, c := agree(t, bad)
					seen[c]++
				}
			}
			// The last 8 bytes are the checksum and the size, nothing else.
			if seen[checksum] < 8*len(flips) {
				t.Errorf("%v; want %d of wrong checksums at least", seen, 8*len(flips))
			}
		})
	}
}

// FuzzGunzip compares with the standard library on anything.
func FuzzGunzip(f *testing.F) {
	for _, packed := range small(f) {
		f.Add(packed)
		f.Add(packed[:len(packed)/2])
		f.Add(append(bytes.Clone(packed), 0, 0, 0))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		if plain, _ := oracle(t, packed); len(plain) > 4<<20 {
			t.Skip("expands too far for the slow ways of decoding")
		}
		agree(t, packed)
	})
}
