package gunzip

import "unsafe"

// symbols decodes a block's literals and matches.
func (z *Reader) symbols() status {
	for z.step == stepSymbols {
		if z.op > outLimit {
			return full
		}
		if z.ie-z.ip >= fastInput {
			z.fast()
			if z.op > outLimit {
				return full
			}
		}
		// What fast leaves alone, and the last bytes of the input.
		if s := z.symbol(); s != more {
			return s
		}
	}
	return more
}

// fastInput is how many bytes of input a round of fast needs: it loads 8 bytes twice, up
// to 7 bytes apart.
const fastInput = 16

// fast decodes symbols while in has a round's input and out a longest match's room, and
// stops before a symbol that needs care: the block's end, damage. Within a round nothing
// is checked but what data can get wrong.
//
// bits is refilled with a whole word: n becomes at least 56, and the bits above n are right
// too, so that or-ing them again does no harm.
func (z *Reader) fast() {
	in, out := unsafe.Pointer(&z.in), unsafe.Pointer(&z.out)
	lit, dist := &z.lit, &z.dist
	bits, n := z.bits, z.n
	ip, op, hist := uint64(z.ip), uint64(z.op), uint64(z.hist)
	lastIn := uint64(z.ie - fastInput)
	bits |= load64(in, ip) << (n & 63)
	ip += (63 - n) >> 3
	n |= 56
	e := uint64(lit[bits&(1<<litBits-1)]) // looked up before it is needed: loads take time
	for ip <= lastIn && op <= outLimit-3*2 {
		bits |= load64(in, ip) << (n & 63)
		ip += (63 - n) >> 3
		n |= 56
		// Three entries of literals (33 bits) and a length (20) fit what is there.
		if e >= entryLiteral {
			store16(out, op, e>>10)
			op += e >> 26 & 3
			bits >>= e & 63
			n -= e & 63
			e = uint64(lit[bits&(1<<litBits-1)])
			if e >= entryLiteral {
				store16(out, op, e>>10)
				op += e >> 26 & 3
				bits >>= e & 63
				n -= e & 63
				e = uint64(lit[bits&(1<<litBits-1)])
				if e >= entryLiteral {
					store16(out, op, e>>10)
					op += e >> 26 & 3
					bits >>= e & 63
					n -= e & 63
					e = uint64(lit[bits&(1<<litBits-1)])
					continue
				}
			}
		}
		if e >= entryOther {
			if e&entrySub == 0 {
				break
			}
			e = uint64(lit[e>>16&0xfff+bits>>litBits&(e>>10&0xf)])
			if e >= entryLiteral {
				store16(out, op, e>>10)
				op++
				bits >>= e & 63
				n -= e & 63
				e = uint64(lit[bits&(1<<litBits-1)])
				continue
			}
			if e >= entryOther {
				break
			}
		}
		length := e>>16 + bits>>(e>>6&15)&(e>>10&31)
		keepBits, keepN := bits, n
		bits >>= e & 63
		n -= e & 63
		keepIn := ip
		bits |= load64(in, ip) << (n & 63)
		ip += (63 - n) >> 3
		n |= 56
		d := dist[bits&(1<<distBits-1)]
		if d >= distOther {
			if d&distSub == 0 {
				bits, n, ip = keepBits, keepN, keepIn
				break
			}
			d = dist[d>>32&0xffff+bits>>distBits&(d>>16&0xff)]
		}
		far := d>>32 + bits>>(d>>6&15)&(d>>16&0x1fff)
		bits >>= d & 63
		n -= d & 63
		if far > op-hist {
			bits, n, ip = keepBits, keepN, keepIn
			break
		}
		e = uint64(lit[bits&(1<<litBits-1)])
		to, end := unsafe.Add(out, op), op+length
		from := unsafe.Add(out, op-far)
		for far < 8 {
			store64(to, 0, load64(from, 0))
			to = unsafe.Add(to, far)
			far *= 2
		}
		store64(to, 0, load64(from, 0))
		store64(to, 8, load64(from, 8))
		if length > 16 {
			store64(to, 16, load64(from, 16))
			store64(to, 24, load64(from, 24))
			for left := int64(length) - 32; left > 0; left -= 32 {
				from, to = unsafe.Add(from, 32), unsafe.Add(to, 32)
				store64(to, 0, load64(from, 0))
				store64(to, 8, load64(from, 8))
				store64(to, 16, load64(from, 16))
				store64(to, 24, load64(from, 24))
			}
		}
		op = end
	}
	z.bits, z.n = bits&(1<<(n&63)-1), n
	z.ip, z.op = int(ip), int(op)
}

// symbol decodes one symbol, with the input that is there.
func (z *Reader) symbol() status {
	z.need(48)
	e := uint64(z.lit[z.bits&(1<<litBits-1)])
	if e >= entryLiteral {
		used := e >> 6 & 15 // the first literal's only: the second's bits may be missing
		if used > z.n {
			return hungry
		}
		z.take(used)
		z.out[z.op] = byte(e >> 10)
		z.op++
		return more
	}
	if e&entrySub != 0 {
		e = uint64(z.lit[e>>16&0xfff+z.bits>>litBits&(e>>10&0xf)])
	}
	used := e & 63
	switch {
	case used > z.n:
		return hungry
	case e >= entryLiteral:
		z.take(used)
		z.out[z.op] = byte(e >> 10)
		z.op++
		return more
	case e&entryEnd != 0:
		z.take(used)
		return z.endBlock()
	case e >= entryOther:
		return z.fail(ErrCorrupt)
	}
	length := int(e>>16 + z.bits>>(e>>6&15)&(e>>10&31))
	rest := z.bits >> used
	d := z.dist[rest&(1<<distBits-1)]
	if d&distSub != 0 {
		d = z.dist[d>>32&0xffff+rest>>distBits&(d>>16&0xff)]
	}
	if used += d & 63; used > z.n {
		return hungry
	}
	far := int(d>>32&0xffff + rest>>(d>>6&15)&(d>>16&0x1fff))
	if d >= distOther || far > z.op-z.hist {
		return z.fail(ErrCorrupt)
	}
	z.take(used)
	for range length {
		z.out[z.op] = z.out[z.op-far]
		z.op++
	}
	return more
}
