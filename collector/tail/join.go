package tail

import (
	"bytes"
	"encoding/json"
)

// Container runtimes break lines that are longer than 16 KiB into pieces. CRI marks them in a word before the text,
//
//	2026-08-20T10:00:00.000000000Z stdout P RANK 0, GPU 0, step …
//	2026-08-20T10:00:00.000000123Z stdout F … MFU 0.318)
//
// and docker's json-file by a text without a line break at its end.

// piece is a container runtime's record.
type piece struct {
	stream  byte // 'o' of stdout, 'e' of stderr
	partial bool // the line goes on in a later piece of the stream
	cri     bool
	text    []byte // from where the engine's own text begins, as it stands there
}

// splitPiece tells whether a line without its end is a container runtime's.
func splitPiece(line []byte) (p piece, ok bool) {
	if bytes.HasPrefix(line, []byte(`{"log":"`)) {
		p.stream = 'o'
		if bytes.Contains(line, []byte(`"stream":"stderr"`)) {
			p.stream = 'e'
		}
		p.text = line[len(`{"log":"`):]
		end := 0
		for end < len(p.text) && p.text[end] != '"' {
			if p.text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(p.text) {
			return p, false
		}
		p.text = p.text[:end]
		p.partial = !bytes.HasSuffix(p.text, []byte(`\n`))
		return p, true
	}
	i := bytes.IndexByte(line, ' ')
	if i < 20 || i > 40 || len(line) < i+9 || line[i-1] != 'Z' && bytes.LastIndexAny(line[:i], "+-") < 19 {
		return p, false
	}
	rest := line[i+1:]
	if !bytes.HasPrefix(rest, []byte("std")) || rest[6] != ' ' || len(rest) > 8 && rest[8] != ' ' || rest[7] != 'P' && rest[7] != 'F' {
		return p, false
	}
	p.stream, p.partial, p.cri = rest[3], rest[7] == 'P', true
	p.text = rest[min(9, len(rest)):]
	return p, true
}

// Whole is the [Options.Whole] for logs of containers: data up to the last place where no line is in pieces.
func Whole(data []byte) int {
	whole, at := 0, 0
	var open [256]bool
	waiting := 0
	for at < len(data) {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			break
		}
		p, ok := splitPiece(data[at : at+end])
		at += end + 1
		if ok && p.partial != open[p.stream] {
			open[p.stream] = p.partial
			if p.partial {
				waiting++
			} else {
				waiting--
			}
		}
		if waiting == 0 {
			whole = at
		}
	}
	return whole
}

// Lines calls yield for each line in data, whose pieces it joins, without its line break. at is where in data it begins.
// line is valid during the call.
func Lines(data []byte, yield func(at int, line []byte)) {
	var parts [2]joined
	for at := 0; at < len(data); {
		line := data[at:]
		next := len(data)
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line, next = line[:end], at+end+1
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		begin := at
		at = next
		p, ok := splitPiece(line)
		if !ok {
			yield(begin, line)
			continue
		}
		j := &parts[0]
		if p.stream == 'e' {
			j = &parts[1]
		}
		if j.text == nil && !p.partial {
			yield(begin, line)
			continue
		}
		j.add(begin, line, p)
		if !p.partial {
			j.give(yield)
		}
	}
	for i := range parts { // pieces whose rest was lost
		parts[i].give(yield)
	}
}

// joined is a line in the making.
type joined struct {
	at   int
	text []byte
	json bool
}

func (j *joined) add(at int, line []byte, p piece) {
	if j.text == nil {
		j.at, j.json = at, !p.cri
		if p.cri { // with the time in front of it
			j.text = append([]byte{}, line[:len(line)-len(p.text)]...)
		} else {
			j.text = append([]byte{}, dockerTime(line)...)
		}
	}
	if p.cri {
		j.text = append(j.text, p.text...)
		return
	}
	var text string
	if json.Unmarshal(append(append([]byte{'"'}, p.text...), '"'), &text) == nil {
		j.text = append(j.text, text...)
	}
}

func (j *joined) give(yield func(int, []byte)) {
	if j.text != nil {
		yield(j.at, bytes.TrimSuffix(j.text, []byte{'\n'}))
		j.text = nil
	}
}

// dockerTime is the time of a json-file record with a blank behind it.
func dockerTime(line []byte) []byte {
	const key = `"time":"`
	i := bytes.LastIndex(line, []byte(key))
	if i < 0 {
		return nil
	}
	t := line[i+len(key):]
	end := bytes.IndexByte(t, '"')
	if end < 0 || end > 40 {
		return nil
	}
	return append(append([]byte{}, t[:end]...), ' ')
}
