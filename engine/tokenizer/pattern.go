package tokenizer

import "unicode/utf8"

// A pattern is a regular expression that cuts text into words, in the dialect of tokenizers' files: Perl's,
// with look-ahead and possessive repeats, which package regexp lacks. It has no captures, references back or
// look-behind. Alternatives are tried in order, as Perl does; repeats are greedy unless a "?" follows.
//
// A match takes time in proportion to its length for the patterns that tokenizers have. Others could take
// exponential time, so steps are counted, and after too many nothing matches any more.
type pattern struct {
	insts []inst
}

type opcode uint8

const (
	opClass  opcode = iota // one rune of the class
	opRun                  // min to max runes of the class, greedy
	opSplit                // go on at x, or else at y
	opJump                 // go on at x
	opAhead                // what stands from the next inst to x must match here
	opNot                  // … must not match
	opAtomic               // what stands there matches, and is not tried in another way
	opStart                // the beginning of the text
	opEnd                  // the end of the text
	opMatch
)

type inst struct {
	op         opcode
	class      *class
	min, max   int // of a run; max −1: any number
	possessive bool
	x, y       int
}

// A frame is where to go on when what was tried does not match.
type frame struct {
	pc, at, low int // a run gives back one rune at a time, until low
}

// maxSteps is how many instructions all matches in a text may take for each of its bytes.
const maxSteps = 1000

// A matcher has the memory of matches, for one goroutine.
type matcher struct {
	p     *pattern
	stack []frame
	steps int
}

// match returns the end of the match that begins at a place of s, or −1.
func (m *matcher) match(s string, at int) int { return m.run(s, at, 0) }

func (m *matcher) run(s string, at, pc int) int {
	base := len(m.stack)
	insts := m.p.insts
	for {
		if m.steps--; m.steps < 0 {
			m.stack = m.stack[:base]
			return -1
		}
		in := &insts[pc]
		ok := true
		switch in.op {
		case opMatch:
			m.stack = m.stack[:base]
			return at
		case opClass:
			size := in.class.next(s, at)
			ok = size > 0
			at += size
			pc++
		case opRun:
			end, n := at, 0
			low := at
			for n != in.max {
				size := in.class.next(s, end)
				if size == 0 {
					break
				}
				end += size
				if n++; n == in.min {
					low = end
				}
			}
			m.steps -= n
			ok = n >= in.min
			if pc++; ok && end > low && !in.possessive {
				m.stack = append(m.stack, frame{pc, end, low})
			}
			at = end
		case opSplit:
			m.stack = append(m.stack, frame{in.y, at, at})
			pc = in.x
		case opJump:
			pc = in.x
		case opAhead, opNot:
			ok = (m.run(s, at, pc+1) >= 0) == (in.op == opAhead)
			pc = in.x
		case opAtomic:
			end := m.run(s, at, pc+1)
			ok = end >= 0
			at, pc = end, in.x
		case opStart:
			ok = at == 0
			pc++
		case opEnd:
			ok = at == len(s)
			pc++
		}
		if ok {
			continue
		}
		if len(m.stack) == base {
			return -1
		}
		top := &m.stack[len(m.stack)-1]
		pc = top.pc
		if top.at == top.low { // of a split
			at = top.at
			m.stack = m.stack[:len(m.stack)-1]
			continue
		}
		_, size := utf8.DecodeLastRuneInString(s[:top.at])
		top.at -= size
		at = top.at
		if top.at == top.low {
			m.stack = m.stack[:len(m.stack)-1]
		}
	}
}
