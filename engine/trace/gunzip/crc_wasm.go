package gunzip

// update adds b to crc.
func (f *folder) update(crc uint32, b []byte) uint32 { return f.sum(crc, b) }
