package gunzip

// step says what comes next in the stream. Each step that is waiting for input is resumed
// where it stopped.
type step uint8

const (
	stepHeader    step = iota // the 10 bytes every header has
	stepExtraSize             // optional fields, in their order
	stepExtra
	stepName
	stepComment
	stepHeaderCRC
	stepBlock // a block's header
	stepStoredSize
	stepStored
	stepCounts // a dynamic block's codes
	stepLensCode
	stepLens
	stepSymbols
	stepTrailer
)

// Flags of a header.
const (
	flagHeaderCRC = 1 << 1
	flagExtra     = 1 << 2
	flagName      = 1 << 3
	flagComment   = 1 << 4
	flagsReserved = 7 << 5
)

func (z *Reader) advance() status {
	switch z.step {
	case stepBlock:
		return z.block()
	case stepStoredSize:
		return z.storedSize()
	case stepStored:
		return z.copyStored()
	case stepCounts:
		return z.counts()
	case stepLensCode:
		return z.lensCode()
	case stepLens:
		return z.codeLens()
	case stepSymbols:
		return z.symbols()
	case stepTrailer:
		return z.trailer()
	case stepHeaderCRC:
		if !z.need(16) {
			return hungry
		}
		if z.take(16) != z.headerCRC&0xffff {
			return z.fail(ErrHeader)
		}
		return z.data()
	}
	return z.header()
}

func (z *Reader) fail(err error) status {
	z.err = err
	return failed
}

// header takes one byte of a header.
func (z *Reader) header() status {
	if !z.need(8) {
		return hungry
	}
	b := z.take(8)
	if z.step == stepHeader && z.at == 0 {
		z.headerCRC = ^uint32(0)
	}
	z.headerCRC = next(z.headerCRC, byte(b))
	switch z.step {
	case stepHeader:
		switch {
		case z.at == 0 && b != 0x1f, z.at == 1 && b != 0x8b, z.at == 2 && b != 8,
			z.at == 3 && b&flagsReserved != 0:
			return z.fail(ErrHeader)
		case z.at == 3:
			z.flags = b
		}
		if z.at++; z.at < 10 {
			return more
		}
	case stepExtraSize:
		z.left |= b << (8 * z.at)
		if z.at++; z.at < 2 {
			return more
		}
		if z.left > 0 {
			z.step = stepExtra
			return more
		}
	case stepExtra:
		if z.left--; z.left > 0 {
			return more
		}
	default: // stepName, stepComment
		if b != 0 {
			return more
		}
	}
	return z.nextField()
}

// nextField goes on to the next part of the header that the flags announce.
func (z *Reader) nextField() status {
	z.at, z.left = 0, 0
	switch {
	case z.flags&flagExtra != 0:
		z.flags &^= flagExtra
		z.step = stepExtraSize
	case z.flags&flagName != 0:
		z.flags &^= flagName
		z.step = stepName
	case z.flags&flagComment != 0:
		z.flags &^= flagComment
		z.step = stepComment
	case z.flags&flagHeaderCRC != 0:
		z.headerCRC = ^z.headerCRC
		z.step = stepHeaderCRC
	default:
		return z.data()
	}
	return more
}

// data begins a member's compressed data.
func (z *Reader) data() status {
	z.step = stepBlock
	z.hist, z.summed = z.op, z.op
	z.crc, z.size = 0, 0
	return more
}

// sum takes what was decoded since the last call into the member's checksum and size.
func (z *Reader) sum() {
	b := z.out[z.summed:z.op]
	z.crc = z.folder.update(z.crc, b)
	z.size += uint32(len(b))
	z.summed = z.op
}

// trailer compares a member's checksum and size, which begin at a byte boundary.
func (z *Reader) trailer() status {
	if z.at == 0 {
		z.take(z.n & 7)
		z.sum()
	}
	for ; z.at < 2; z.at++ {
		if !z.need(32) {
			return hungry
		}
		word := z.take(32)
		if z.at == 0 {
			z.left = word // a trailer that is cut is no wrong checksum, so the size first
		} else if z.left != z.crc || word != z.size {
			return z.fail(ErrChecksum)
		}
	}
	z.members++
	z.step, z.at = stepHeader, 0
	return more
}
