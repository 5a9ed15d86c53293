//go:build !wasm

package gunzip

import "hash/crc32"

// update adds b to crc.
func (f *folder) update(crc uint32, b []byte) uint32 {
	return crc32.Update(crc, crc32.IEEETable, b)
}
