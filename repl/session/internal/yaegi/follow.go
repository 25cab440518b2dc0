package yaegi

import (
	"go/token"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/internal/goroutine"
)

// While a profile is made, each function that begins runs its steps itself, one by one, and notes which one
// is under way: a sampler in another goroutine finds there, at any moment, what each goroutine does. That
// costs nothing that could be measured in a loop, some 10 ns in a call, which has to find its goroutine, and
// nothing at all while no code is followed. All functions can be followed, however long ago they were
// compiled and whoever holds them, because the first step of a function is a point (steps.go).

// A Step stands for a step that is or was under way, see [Interp.PosOf]. It is the address of the step, which
// the code keeps: a pointer would have to tell the collector of each one.
type Step uintptr

// A Thread is a goroutine whose code is followed.
type Thread struct {
	id    uintptr
	depth int // of the calls under way
	calls int // so far
	steps atomic.Pointer[[]*chunk]
	waits bool
}

// A chunk has the steps that some calls have under way.
type chunk [256]Step

// following is what an interpreter knows while code is followed.
type following struct {
	on     atomic.Bool
	recent [256]atomic.Pointer[Thread] // by a hash of their ids
	mu     sync.Mutex
	all    map[uintptr]*Thread
	places map[Step]token.Pos // of the steps that were asked for; NoPos: several nodes have the step
}

// Follow makes all code tell which of its steps are under way, or stops it doing so. Functions that run
// already are followed from their next calls on.
func (in *Interp) Follow(on bool) {
	fo := &in.following
	fo.mu.Lock()
	fo.all, fo.places = map[uintptr]*Thread{}, nil
	for i := range fo.recent {
		fo.recent[i].Store(nil)
	}
	fo.mu.Unlock()
	fo.on.Store(on)
	p := &in.points
	p.mu.Lock()
	defer p.mu.Unlock()
	p.following = on
	p.sweep()
	in.divert(p.list)
}

// followed is the first step of a function that is followed: it runs them all.
func (in *Interp) followed(first step) step {
	return func(f *frame) step {
		t := in.thread()
		at, depth := t.enter(first)
		defer t.leave(depth)
		for s := first; s != nil && atomic.LoadUint64(&f.id) == atomic.LoadUint64(in.id); {
			*at = *(*Step)(unsafe.Pointer(&s)) // a call of stepOf would cost what all the rest does
			s = s(f)
		}
		return nil
	}
}

// thread is the one of the calling goroutine.
func (in *Interp) thread() *Thread { return in.Thread(goroutine.Current()) }

// Thread is the one of a goroutine, by package goroutine's number for it.
func (in *Interp) Thread(id uintptr) *Thread {
	fo := &in.following
	recent := &fo.recent[uint64(id)*0x9e3779b97f4a7c15>>56]
	if t := recent.Load(); t != nil && t.id == id {
		return t
	}
	fo.mu.Lock()
	defer fo.mu.Unlock()
	t := fo.all[id]
	if t == nil {
		t = &Thread{id: id}
		t.steps.Store(new([]*chunk))
		fo.all[id] = t
	}
	recent.Store(t)
	return t
}

// Here is the calling goroutine, or nil if code is not followed.
func (in *Interp) Here() *Thread {
	if !in.following.on.Load() {
		return nil
	}
	return in.thread()
}

// Followed returns how much longer code took because its calls were followed: as many calls of nothing.
func (in *Interp) Followed() time.Duration {
	calls := 0
	for _, t := range in.Threads() {
		calls += t.made()
	}
	const some = 2000
	nothing := in.followed(func(*frame) step { return nil })
	f := &frame{id: atomic.LoadUint64(in.id)}
	begun := time.Now()
	for range some {
		nothing(f)
	}
	return time.Duration(float64(time.Since(begun)) / some * float64(calls))
}

// Threads returns the goroutines that have run followed code.
func (in *Interp) Threads() []*Thread {
	fo := &in.following
	fo.mu.Lock()
	defer fo.mu.Unlock()
	return slices.SortedFunc(maps.Values(fo.all), func(a, b *Thread) int { return int(a.id) - int(b.id) })
}

// Other goroutines read what follows while it changes, word by word, hidden from the race detector: a stack
// that is read while a function begins or ends is that of before or after.

//go:norace
func (t *Thread) enter(first step) (at *Step, depth int) {
	depth = t.depth
	list := *t.steps.Load()
	if depth/len(chunk{}) == len(list) {
		list = t.grow(list)
	}
	at = &list[depth/len(chunk{})][depth%len(chunk{})]
	*at = stepOf(first)
	t.depth = depth + 1
	t.calls++
	return at, depth
}

// grow adds a chunk.
func (t *Thread) grow(list []*chunk) []*chunk {
	list = append(slices.Clip(list), new(chunk))
	t.steps.Store(&list)
	return list
}

//go:norace
func (t *Thread) leave(depth int) { t.depth = depth }

//go:norace
func (t *Thread) made() int { return t.calls }

// Wait notes that the goroutine waits for others, or does so no more.
//
//go:norace
func (t *Thread) Wait(on bool) { t.waits = on }

// Runs says whether code of the goroutine is under way and does not wait for others.
//
//go:norace
func (t *Thread) Runs() bool { return t.depth > 0 && !t.waits }

// Waits says whether the goroutine waits for others.
//
//go:norace
func (t *Thread) Waits() bool { return t.waits }

// most is how many calls are looked at, of a stack that is deeper.
const most = 100_000

// Steps adds the steps under way to a list, the innermost first; of a recursion each once.
//
//go:norace
func (t *Thread) Steps(list []Step) []Step {
	from, chunks := len(list), *t.steps.Load()
	depth := min(t.depth, len(chunks)*len(chunk{}))
	for d := depth - 1; d >= max(0, depth-most); d-- {
		if s := chunks[d/len(chunk{})][d%len(chunk{})]; !slices.Contains(list[from:], s) {
			list = append(list, s)
		}
	}
	return list
}

func stepOf(s step) Step { return Step(*(*uintptr)(unsafe.Pointer(&s))) }

// again is the step of a node that is made later than the step before it.
func (n *node) again(f *frame) step { return n.exec(f) }

// PosOf is the place of a step in the file set; NoPos if it is not known. Code must be followed.
func (in *Interp) PosOf(s Step) token.Pos {
	fo := &in.following
	fo.mu.Lock()
	pos, known := fo.places[s]
	fo.mu.Unlock()
	if known {
		return pos
	}
	places := in.allPlaces()
	if _, known := places[s]; !known {
		places[s] = token.NoPos
	}
	fo.mu.Lock()
	defer fo.mu.Unlock()
	fo.places = places
	return places[s]
}

// allPlaces are the places of the steps of all code.
func (in *Interp) allPlaces() map[Step]token.Pos {
	p, places := &in.points, map[Step]token.Pos{}
	p.mu.Lock()
	defer p.mu.Unlock()
	note := func(s Step, n *node) {
		if _, twice := places[s]; twice {
			places[s] = token.NoPos
		} else {
			places[s] = n.place()
		}
	}
	seen := map[*node]bool{}
	var list []*node
	for i := range p.list {
		one := &p.list[i]
		n := one.node.Value()
		if n == nil {
			continue
		}
		if one.again != 0 {
			places[one.again] = n.place()
		}
		if one.plain != nil && !seen[n] {
			seen[n] = true
			note(stepOf(one.plain), n)
		}
		list = append(list, n.tnext, n.fnext)
	}
	for len(list) > 0 {
		n := list[len(list)-1]
		if list = list[:len(list)-1]; n == nil || seen[n] {
			continue
		}
		if seen[n] = true; n.exec != nil {
			note(stepOf(n.exec), n)
		}
		list = append(list, n.tnext, n.fnext)
	}
	return places
}

// place is where a node stands, or the next node around it that knows.
func (n *node) place() token.Pos {
	for ; n != nil; n = n.anc {
		if n.pos.IsValid() {
			return n.pos
		}
	}
	return token.NoPos
}
