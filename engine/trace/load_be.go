//go:build !(amd64 || arm64 || wasm || riscv64 || loong64 || ppc64le)

package trace

import "encoding/binary"

// load64 reads 8 bytes at b[i] as a little-endian word.
func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8]) }
