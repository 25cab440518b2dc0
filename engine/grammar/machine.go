package grammar

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// Limits of what a machine keeps; it forgets all where there is more.
const (
	mostStates = 1 << 12
	mostMasks  = 1 << 9
)

// mostPositions is in how many ways a text may be read at once. Schemas that double them at each level are
// held to few levels.
const mostPositions = 1 << 13

// A Machine runs a grammar over a vocabulary. Many goroutines can use it.
type Machine struct {
	g     *Grammar
	v     *Vocabulary
	lives []bool // by node: a text that the vocabulary can say leads from it to its end

	mu     sync.Mutex // guards what follows, and states
	states map[string]*State
	frames map[frame]*frame
	count  uint64 // of frames that were ever made
	masks  int
	start  *State
}

// A State is where a text is in a grammar.
type State struct {
	m       *Machine
	at      []position
	accepts bool
	next    [256]*State // by byte; nil: not made
	mask    []uint64
}

// A position is one way to read a text so far.
type position struct {
	node int32
	in   *frame // nil: nothing was called
}

// A frame is a call that has not ended.
type frame struct {
	back int32
	in   *frame
	id   uint64 // of frames with the same content; 0 in keys
}

// Over returns the machine of a grammar for a vocabulary. That no text of the grammar can be said with the
// vocabulary is an error.
func (g *Grammar) Over(v *Vocabulary) (*Machine, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last != nil && g.last.v == v {
		return g.last, nil
	}
	m := &Machine{g: g, v: v, lives: g.alive(&v.alone)}
	if !m.lives[g.start] {
		return nil, fmt.Errorf("grammar: got a vocabulary that can say no text of it, want one with a token for each byte")
	}
	g.last = m
	return m, nil
}

// alive tells from which nodes texts lead to an end by these bytes.
func (g *Grammar) alive(bytes *[256]bool) []bool {
	lives := make([]bool, len(g.nodes))
	leads := func(n node) bool {
		switch {
		case n.end:
			return true
		case n.call != 0:
			return lives[n.call] && lives[n.after]
		}
		return slices.ContainsFunc(n.ways, func(w int32) bool { return lives[w] }) ||
			slices.ContainsFunc(n.edges, func(e edge) bool {
				return lives[e.to] && slices.Contains(bytes[e.low:int(e.high)+1], true)
			})
	}
	for changed := true; changed; {
		changed = false
		for i, n := range g.nodes {
			if !lives[i] && leads(n) {
				lives[i], changed = true, true
			}
		}
	}
	return lives
}

// Start is the state of the empty text.
func (m *Machine) Start() *State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.start == nil {
		m.forget()
		var s State
		m.reach(&s, position{node: m.g.start})
		m.start = m.same(&s)
	}
	return m.start
}

// Accepts says whether the text may end here.
func (s *State) Accepts() bool { return s.accepts }

// Ends says whether it must: nothing can follow.
func (s *State) Ends() bool { return s.accepts && len(s.at) == 0 }

// Next is the state after a token, nil where it is not allowed.
func (s *State) Next(token int) *State {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	text := s.m.v.text(token)
	if len(text) == 0 {
		return nil
	}
	for i := range len(text) {
		if s = s.step(text[i]); s == nil {
			return nil
		}
	}
	return s
}

// Mask is the set of tokens that may follow, a bit each. It must not be changed.
func (s *State) Mask() []uint64 {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.mask == nil {
		if s.m.masks++; s.m.masks > mostMasks {
			s.m.forget()
		}
		s.mask = s.m.v.allowed(s)
	}
	return s.mask
}

// forget drops what was made. A text goes on from its state.
func (m *Machine) forget() {
	m.states, m.frames, m.start, m.masks = map[string]*State{}, map[frame]*frame{}, nil, 0
}

// dead is the state of what is not allowed.
var dead = &State{}

// step is the state after a byte, nil if it is not allowed.
func (s *State) step(b byte) *State {
	if s.next[b] == nil {
		s.next[b] = s.stepped(b)
	}
	if s.next[b] == dead {
		return nil
	}
	return s.next[b]
}

func (s *State) stepped(b byte) *State {
	m := s.m
	if !m.v.alone[b] {
		return dead
	}
	var t State // a large value, of which only same makes one that stays
	for _, p := range s.at {
		for _, e := range m.g.nodes[p.node].edges {
			if e.low <= b && b <= e.high {
				m.reach(&t, position{e.to, p.in})
			}
		}
	}
	if len(t.at) == 0 && !t.accepts || len(t.at) > mostPositions {
		return dead
	}
	return m.same(&t)
}

// reach adds a position to a state, or where it leads before a byte is taken.
func (m *Machine) reach(s *State, p position) {
	n := &m.g.nodes[p.node]
	switch {
	case !m.lives[p.node] || len(s.at) > mostPositions:
	case n.end && p.in == nil:
		s.accepts = true
	case n.end:
		m.reach(s, position{p.in.back, p.in.in})
	case n.call != 0:
		m.reach(s, position{n.call, m.called(n.after, p.in)})
	case n.ways != nil:
		for _, w := range n.ways {
			m.reach(s, position{w, p.in})
		}
	case !slices.Contains(s.at, p):
		s.at = append(s.at, p)
	}
}

// called is the frame of a call, the same one each time.
func (m *Machine) called(back int32, in *frame) *frame {
	if m.g.nodes[back].end { // the last thing of what was called itself
		return in
	}
	key := frame{back: back, in: in}
	if m.frames[key] == nil {
		m.count++
		m.frames[key] = &frame{back, in, m.count}
	}
	return m.frames[key]
}

// same is a state with the positions of s, the same one each time.
func (m *Machine) same(s *State) *State {
	slices.SortFunc(s.at, func(a, b position) int {
		if a.node != b.node {
			return int(a.node - b.node)
		}
		return int(int64(a.in.number() - b.in.number()))
	})
	key := []byte{0}
	if s.accepts {
		key[0] = 1
	}
	for _, p := range s.at {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(p.node)), p.in.number())
	}
	if old := m.states[string(key)]; old != nil {
		return old
	}
	if len(m.states) >= mostStates {
		m.forget()
	}
	made := &State{m: m, at: s.at, accepts: s.accepts}
	m.states[string(key)] = made
	return made
}

func (f *frame) number() uint64 {
	if f == nil {
		return 0
	}
	return f.id
}
