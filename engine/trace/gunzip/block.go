package gunzip

// Kinds of block.
const (
	blockStored = iota
	blockFixed
	blockDynamic
)

// tables says what the Huffman tables hold.
type tables uint8

const (
	tablesOther tables = iota
	tablesFixed        // the fixed code, which the next fixed block need not build again
)

// block reads a block's header.
func (z *Reader) block() status {
	if !z.need(3) {
		return hungry
	}
	z.last = z.take(1) == 1
	switch z.take(2) {
	case blockStored:
		z.take(z.n & 7)
		z.step = stepStoredSize
	case blockFixed:
		if z.tables != tablesFixed {
			z.fixed()
		}
		z.step = stepSymbols
	case blockDynamic:
		z.step = stepCounts
	default:
		return z.fail(ErrCorrupt)
	}
	return more
}

// endBlock goes on behind a block.
func (z *Reader) endBlock() status {
	z.step = stepBlock
	if z.last {
		z.step, z.at = stepTrailer, 0
	}
	return more
}

func (z *Reader) storedSize() status {
	if !z.need(32) {
		return hungry
	}
	size := z.take(16)
	if z.take(16) != size^0xffff {
		return z.fail(ErrCorrupt)
	}
	z.stored = int(size)
	z.step = stepStored
	return more
}

func (z *Reader) copyStored() status {
	for z.stored > 0 {
		if z.op > outLimit {
			return full
		}
		if z.n == 0 {
			n := copy(z.out[z.op:z.op+min(z.stored, outSize-z.op)], z.in[z.ip:z.ie])
			if n == 0 {
				return hungry
			}
			z.ip += n
			z.op += n
			z.stored -= n
			continue
		}
		z.out[z.op] = byte(z.take(8)) // bits begins at a byte boundary here
		z.op++
		z.stored--
	}
	return z.endBlock()
}

// fixed builds the tables of the fixed code.
func (z *Reader) fixed() {
	var lens [numLits]uint8
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	build(z.lit[:], litShape, litSymbols[:], lens[:])
	pair(&z.lit)
	for i := range numDists {
		lens[i] = 5
	}
	build(z.dist[:], distShape, distSymbols[:], lens[:numDists])
	z.tables = tablesFixed
}

// counts reads how many codes of each kind a dynamic block defines.
func (z *Reader) counts() status {
	if !z.need(14) {
		return hungry
	}
	z.nLits, z.nDists = int(z.take(5))+257, int(z.take(5))+1
	z.left = z.take(4) + 4
	if z.nLits > maxLits || z.nDists > maxDists {
		return z.fail(ErrCorrupt)
	}
	clear(z.lens[:numLens])
	z.step, z.at = stepLensCode, 0
	return more
}

// lensOrder is the order in which the lengths of the code for code lengths are sent.
var lensOrder = [numLens]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// lensCode reads the code in which the codes' lengths are written.
func (z *Reader) lensCode() status {
	for ; z.at < int(z.left); z.at++ {
		if !z.need(3) {
			return hungry
		}
		z.lens[lensOrder[z.at]] = uint8(z.take(3))
	}
	if !build(z.codes[:], lensShape, lensSymbols[:], z.lens[:numLens]) {
		return z.fail(ErrCorrupt)
	}
	z.step, z.at = stepLens, 0
	return more
}

// codeLens reads the lengths of a dynamic block's codes, and builds its tables.
func (z *Reader) codeLens() status {
	all := z.nLits + z.nDists
	for z.at < all {
		z.need(lensBits + 7)
		e := z.codes[z.bits&(1<<lensBits-1)]
		used := uint64(e & 63)
		if used > z.n {
			return hungry
		}
		if e&entryOther != 0 {
			return z.fail(ErrCorrupt)
		}
		symbol := uint8(e >> 10)
		if symbol < 16 {
			z.take(used)
			z.lens[z.at] = symbol
			z.at++
			continue
		}
		extra, times, value := uint64(2), 3, uint8(0)
		switch symbol {
		case 16:
			if z.at == 0 {
				return z.fail(ErrCorrupt)
			}
			value = z.lens[z.at-1]
		case 17:
			extra = 3
		default:
			extra, times = 7, 11
		}
		if used+extra > z.n {
			return hungry
		}
		z.take(used)
		times += int(z.take(extra))
		if times > all-z.at {
			return z.fail(ErrCorrupt)
		}
		for range times {
			z.lens[z.at] = value
			z.at++
		}
	}
	z.tables = tablesOther
	if !build(z.lit[:], litShape, litSymbols[:], z.lens[:z.nLits]) ||
		!build(z.dist[:], distShape, distSymbols[:], z.lens[z.nLits:all]) {
		return z.fail(ErrCorrupt)
	}
	pair(&z.lit)
	z.step = stepSymbols
	return more
}
