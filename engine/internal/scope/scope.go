// Package scope gives a goroutine the context that its evaluations obey.
//
// A tensor is computed when it is read or printed, far below any call that could pass a context on. So
// [Within] binds a context to the calling goroutine for as long as a function runs: the engine asks [Context]
// for it. Scopes nest. A goroutine that is started within a scope has none of its own: the code that starts
// one on behalf of a scope calls Within there.
//
// A context stops work, and it carries settings under a [Key]: fusion, the generator of random numbers, the
// default device. An inner context alone decides when work stops, because a run in the background has to
// outlive what started it. A setting that an inner context lacks is that of the scope around it.
package scope

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/internal/goroutine"
)

// A Key is what a setting is found by.
type Key struct{ Name string }

// shards is how many locks the scopes of all goroutines share.
const shards = 64

// A bound is the innermost scope of a goroutine. It does not change.
type bound struct {
	g   uintptr
	ctx context.Context
}

// scopes has the innermost scope of each goroutine that is within one.
var scopes [shards]struct {
	sync.Mutex
	of map[uintptr]*bound
	_  [40]byte // each lock has a line of memory of its own
}

// recent has those that were asked for last, to be found without a lock: each node and each evaluation ask.
// Nobody but a goroutine itself enters its scope here, and it does so before it leaves set or get: so one
// that stands here is the innermost of its goroutine.
var recent [4 * shards]atomic.Pointer[bound]

// count is how many goroutines are within a scope: without any nothing need be looked up.
var count atomic.Int64

// Context returns the context of the innermost scope of the calling goroutine, or the background context.
func Context() context.Context {
	if count.Load() > 0 {
		if b := get(goroutine.Current()); b != nil {
			return b.ctx
		}
	}
	return context.Background()
}

// Within calls f, in whose goroutine ctx is the context meanwhile. It ends with f, also when f panics or ends
// its goroutine.
func Within(ctx context.Context, f func()) {
	g := goroutine.Current()
	outer := get(g)
	defer set(g, outer)
	set(g, &bound{g, within(ctx, outer.context())})
	f()
}

// context is that of the scope, or nil without one.
func (b *bound) context() context.Context {
	if b == nil {
		return nil
	}
	return b.ctx
}

// within is the context of a scope that is entered in another one, or in none.
func within(ctx, outer context.Context) context.Context {
	own := ctx.Value(self)
	switch {
	case own == ctx && (outer == nil || outer == ctx):
		return ctx
	case own != nil && own == outer: // what was made from outer has its settings
		return newScoped(ctx, nil)
	case outer == nil && ctx == context.Background(): // nothing is known of the goroutine
		return ctx
	}
	return newScoped(ctx, outer)
}

// hash spreads the addresses of goroutines.
func hash(g uintptr) uintptr { return g>>7 ^ g>>13 }

// get returns the innermost scope of the calling goroutine, or nil.
func get(g uintptr) *bound {
	at := &recent[hash(g)%uintptr(len(recent))]
	if b := at.Load(); b != nil && b.g == g {
		return b
	}
	s := &scopes[hash(g)%shards]
	s.Lock()
	b := s.of[g]
	s.Unlock()
	if b != nil {
		at.Store(b)
	}
	return b
}

// set gives the calling goroutine its scope; nil ends the outermost one.
func set(g uintptr, b *bound) {
	s := &scopes[hash(g)%shards]
	s.Lock()
	_, had := s.of[g]
	switch {
	case b == nil && had:
		delete(s.of, g)
		count.Add(-1)
	case b != nil:
		if s.of == nil {
			s.of = map[uintptr]*bound{}
		}
		s.of[g] = b
		if !had {
			count.Add(1)
		}
	}
	s.Unlock()
	at := &recent[hash(g)%uintptr(len(recent))]
	if old := at.Load(); b != nil || old != nil && old.g == g {
		at.CompareAndSwap(old, b)
	}
}

// scoped is the context of a scope. It remembers the settings that were asked for, and what ends it, because
// each launch and each node ask, and the chain of contexts that a session makes is long. So work costs the
// same within a context that has a recording more or a setting less.
type scoped struct {
	context.Context
	outer context.Context // of the scope around it, or nil
	done  <-chan struct{} // of Context
	known atomic.Pointer[[]setting]
}

func newScoped(ctx, outer context.Context) *scoped {
	return &scoped{Context: ctx, outer: outer, done: ctx.Done()}
}

// Done is closed when work has to stop.
func (s *scoped) Done() <-chan struct{} { return s.done }

// Err is nil as long as work may go on.
func (s *scoped) Err() error {
	select {
	case <-s.done:
		return s.Context.Err()
	default:
		return nil
	}
}

// A setting is what a context has under a key: nil if it has nothing.
type setting struct {
	key   *Key
	value any
}

// self finds the context of a scope itself, so that one that was made from it is not looked through twice.
var self = &Key{"self"}

// Value returns what the context has under key, or a setting of the scope around it.
func (s *scoped) Value(key any) any {
	k, ok := key.(*Key)
	switch {
	case !ok:
		return s.Context.Value(key)
	case k == self:
		return s
	}
	known := s.known.Load()
	if known != nil {
		for i := range *known {
			if one := &(*known)[i]; one.key == k {
				return one.value
			}
		}
	}
	v := s.Context.Value(key)
	if v == nil && s.outer != nil {
		v = s.outer.Value(key)
	}
	s.remember(known, setting{k, v})
	return v
}

// remember adds a setting to those that are known, unless another goroutine has added one meanwhile.
func (s *scoped) remember(known *[]setting, one setting) {
	var list []setting
	if known != nil {
		list = slices.Clip(*known)
	}
	list = append(list, one)
	s.known.CompareAndSwap(known, &list)
}
