package ledger

import (
	"strconv"
	"strings"
)

// head is the beginning of an engine line: RANK 0, GPU 0, step 1200, [stats] (
type head struct {
	at, end int // end is behind the parenthesis
	line    Line
	err     *ParseError
}

// findHeads finds the engine lines in s. Lines can be torn into each other, so a head
// may stand anywhere; what only resembles one belongs to the line around it.
func findHeads(s string) []head {
	var heads []head
	for at := nextRank(s, 0); at >= 0 && len(heads) < maxHeads; {
		next := nextRank(s, at+1)
		end := len(s)
		if next >= 0 {
			end = next
		}
		p := headParser{s: s[at:end], torn: next >= 0, line: Line{Rank: -1, GPU: -1}}
		if ours := p.parse(); ours {
			heads = append(heads, head{at, at + p.i, p.line, p.err})
		}
		at = next
	}
	return heads
}

// nextRank finds the next RANK and a number that is not the end of a longer word like
// LOCAL_RANK. (A letter before it may be the end of a torn line.)
func nextRank(s string, from int) int {
	for {
		i := strings.Index(s[from:], "RANK ")
		if i < 0 {
			return -1
		}
		i += from
		digit := i + len("RANK ")
		if digit < len(s) && isDigit(s[digit]) && (i == 0 || s[i-1] != '_') {
			return i
		}
		from = digit
	}
}

type headParser struct {
	s    string
	i    int
	torn bool // another line follows s
	line Line
	err  *ParseError
	// which of RANK, GPU and step were read
	rank, gpu, step bool
}

// parse reads pairs of word and number up to the section, in any order. Unknown pairs
// are kept as extra metrics. It says whether this is an engine line at all; if it is and
// err is set, it could not be read.
func (p *headParser) parse() bool {
	for {
		p.blanks()
		if p.i < len(p.s) && p.s[p.i] == '[' {
			return p.section()
		}
		start := p.i
		for p.i < len(p.s) && isWord(p.s[p.i]) {
			p.i++
		}
		word := p.s[start:p.i]
		p.blanks()
		digits := p.i
		for p.i < len(p.s) && (isDigit(p.s[p.i]) || p.s[p.i] == '-' && p.i == digits) {
			p.i++
		}
		number := p.s[digits:p.i]
		if p.i == len(p.s) && p.rank && p.gpu {
			p.err = fault(Cut, p.s)
			return true
		}
		if word == "" || number == "" || !p.take(word, number) {
			return p.damaged()
		}
		p.blanks()
		if p.i < len(p.s) && p.s[p.i] == ',' {
			p.i++
		} else if p.i < len(p.s) && p.s[p.i] != '[' {
			return p.damaged()
		}
		if p.i == len(p.s) {
			p.err = fault(Cut, p.s)
			return p.rank && p.gpu && (p.torn || p.s[len(p.s)-1] == ',')
		}
	}
}

// take keeps one pair; false when its number is out of range or a name comes twice.
func (p *headParser) take(word, number string) bool {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return false
	}
	small := n >= 0 && n <= 1<<31-1
	switch {
	case word == "RANK" && !p.rank && small:
		p.line.Rank, p.rank = int(n), true
	case word == "GPU" && !p.gpu && small:
		p.line.GPU, p.gpu = int(n), true
	case word == "step" && !p.step && n >= 0:
		p.line.Step, p.step = n, true
	case word == "RANK" || word == "GPU" || word == "step" || len(p.line.Values) == 8:
		return false
	default:
		if _, taken := own(word); taken {
			return false
		}
		b := body{line: &p.line}
		b.add(strings.Clone(word), "", float64(n), "")
		return b.err == nil
	}
	return true
}

// section reads [name] and the opening parenthesis.
func (p *headParser) section() bool {
	name, rest, closed := strings.Cut(p.s[p.i+1:], "]")
	known := false
	switch s := Section(name); s {
	case Stats, CPU, CUDA, NCCL:
		p.line.Section, known = s, closed
	}
	rest = strings.TrimLeft(rest, " \t")
	whole := p.rank && p.gpu && p.step
	switch {
	case known && whole && strings.HasPrefix(rest, "("):
		p.i = len(p.s) - len(rest) + 1
		return true
	case !closed && len(name) <= MaxNameBytes, known && rest == "":
		p.err = fault(Cut, p.s)
		return p.rank && p.gpu
	case closed && !known && whole && strings.HasPrefix(rest, "("):
		p.err = fault(UnknownSection, name)
		return true
	}
	return p.damaged()
}

// damaged decides about a head that can't be read: it is the engine's only if one of the
// engine's sections follows.
func (p *headParser) damaged() bool {
	if why := stray(p.s[:min(len(p.s), 4*MaxNameBytes)]); why != nil {
		p.line = Line{Rank: -1, GPU: -1}
		p.err = fault(HeadDamaged, p.s)
		return true
	}
	return false
}

func (p *headParser) blanks() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
}

func isDigit(c byte) bool { return c-'0' <= 9 }
func isWord(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
