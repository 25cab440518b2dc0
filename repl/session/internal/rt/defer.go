package rt

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/mcs-notebook/mcs/internal/goroutine"
)

// Defers are the deferred calls of one activation of a function. The interpreter's own defer statement reads
// its arguments late and dead-locks on closures, so a function with deferred calls is lowered to
//
//	func f() (r int) { __rt.Deferred(func(d *__rt.Defers) { …; d.Add(func() { … }); … r = 1; return }); return r }
type Defers struct {
	r       *Runtime
	calls   []func()
	value   any   // the value of the function's panic
	pending bool  // value is set and no function has recovered it
	late    *bool // the call that runs has had the time that it has in a stopped cell; nil: none runs. Runtime.mu guards it
}

// Add defers a call of a function literal.
func (d *Defers) Add(f func()) { d.calls = append(d.calls, f) }

// AddCall defers a call of another function, which f makes: that one may recover.
func (d *Defers) AddCall(f func()) { d.Add(func() { passed(f) }) }

// passed calls f. [Runtime.RecoverCalled] knows it by name.
func passed(f func()) { f() }

// AddRecover defers recover itself, which then recovers as if the function that defers it had called it:
// nothing of that function's own panic, and nothing if the function was not deferred, which literal says or
// the stack.
func (d *Defers) AddRecover(literal bool) {
	if literal || deferredItself() {
		d.Add(func() { d.r.recovered(d) })
	}
}

// Deferred runs body and then its deferred calls, newest first, as Go does: also when body panics, and
// also when a deferred call panics in turn.
func (r *Runtime) Deferred(body func(*Defers)) {
	d := &Defers{r: r}
	d.around(body)
}

func (d *Defers) around(body func(*Defers)) {
	d.protect(body)
	d.finish() // not inside of the recovery: a panic there would keep the stack of the earlier one
}

// protect runs body and keeps the value of its panic.
func (d *Defers) protect(body func(*Defers)) {
	returned := false
	defer func() {
		p := recover()
		if p == nil && !returned { // runtime.Goexit does not come back
			d.finish()
			return
		}
		if p == nil {
			return
		}
		d.value, d.pending = d.r.givesUp(p), true
	}()
	body(d)
	returned = true
}

// finish makes the deferred calls, and panics again if no call has recovered. While a function unwinds,
// recover looks at the innermost activation: in one that has returned normally it finds nothing to
// recover.
func (d *Defers) finish() {
	var g uint64
	for len(d.calls) > 0 {
		if g == 0 && (d.pending || d.r.unwinds()) {
			g = goroutine.Number()
			d.r.mu.Lock()
			d.r.unwinding[g] = append(d.r.unwinding[g], d)
			d.r.mu.Unlock()
		}
		f := d.calls[len(d.calls)-1]
		d.calls = d.calls[:len(d.calls)-1]
		d.call(f)
	}
	if g != 0 {
		d.r.mu.Lock()
		if s := d.r.unwinding[g]; len(s) > 1 {
			d.r.unwinding[g] = s[:len(s)-1]
		} else {
			delete(d.r.unwinding, g)
		}
		d.r.mu.Unlock()
	}
	if d.pending {
		panic(d.value)
	}
}

// unwinds says whether any function is unwinding.
func (r *Runtime) unwinds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.unwinding) > 0
}

func (d *Defers) call(f func()) {
	defer func() {
		if p := recover(); p != nil {
			d.r.mu.Lock() // others ask whether the goroutine stops
			defer d.r.mu.Unlock()
			d.value, d.pending = p, true
		}
	}()
	defer d.timed()()
	f()
}

// timed gives a call that a stopped cell has deferred some time, until over is called. Then the call is told
// to stop, too, and those that were deferred before it have theirs: one may unlock what others wait for.
func (d *Defers) timed() (over func()) {
	r := d.r
	over = func() {}
	if _, stopped := d.value.(Stopped); !stopped {
		return over
	}
	late := new(bool)
	r.mu.Lock()
	defer r.mu.Unlock()
	d.late = late
	if r.settle(); r.Grace == nil {
		return over
	}
	return r.Grace(r.belongs(goroutine.Number()).hooks.Name, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		*late = true
		r.wakeAll()
	})
}

// Defer defers a call of a function literal to the end of the cell.
func (r *Runtime) Defer(f func()) { r.here().defers.Add(f) }

// DeferCall is Defer for a call of another function, which f makes.
func (r *Runtime) DeferCall(f func()) { r.here().defers.AddCall(f) }

// RecoverCalled is Recover for a function that another call than defer may reach: it recovers only if the
// function was deferred itself, see [Defers.AddCall].
func (r *Runtime) RecoverCalled() any {
	if !deferredItself() {
		return nil
	}
	return r.Recover()
}

// deferredItself says whether the interpreted function that called this was called by the literal that
// passed calls. Then there are two interpreted functions on the stack above, not counting functions
// whose body Deferred runs, and functions that pass the call on to their newest declaration.
func deferredItself() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for depth := 0; ; {
		f, more := frames.Next()
		switch {
		case strings.HasSuffix(f.Function, "/interp.runCfg"), strings.HasSuffix(f.Function, "yaegi.(*function).run"):
			depth++
		case strings.HasSuffix(f.Function, "rt.(*Defers).around"), strings.HasSuffix(f.Function, "rt.forwarded"):
			depth--
		case strings.HasSuffix(f.Function, "rt.passed"):
			return depth == 2
		case strings.HasSuffix(f.Function, "rt.(*Defers).call"): // of a literal, which this function is not
			return false
		}
		if !more {
			return false
		}
	}
}

// Recover is the lowered recover() in a function literal that is deferred where it is written. It does not
// stop the unwinding of a cell that was interrupted.
func (r *Runtime) Recover() any {
	v, ok := r.recovered(nil)
	if !ok {
		return nil
	}
	value := r.Open(Value(v)) // which may call a method of a cell
	if _, thrown := v.(Thrown); thrown {
		return value
	}
	return GoError(value)
}

// recovered takes the value of the panic that is under way; during the deferred calls of an activation
// within, of the one before it.
func (r *Runtime) recovered(within *Defers) (v any, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unwinding) == 0 {
		return nil, false
	}
	g := goroutine.Number()
	stack := r.unwinding[g]
	if n := len(stack); within != nil && n > 0 {
		stack = stack[:n-1]
	}
	if len(stack) == 0 || within != nil && within.pending {
		return nil, false
	}
	d := stack[len(stack)-1]
	if !d.pending {
		return nil, false
	}
	if _, stopped := d.value.(Stopped); stopped {
		return nil, false
	}
	d.pending = false
	delete(r.traces, g)
	return d.value, true
}

// A Thrown carries the value of a panic statement through the interpreter, which would wrap it otherwise.
type Thrown struct{ Value any }

// Panic is the lowered panic(v).
func (r *Runtime) Panic(v any) {
	if v == nil {
		v = new(runtime.PanicNilError)
	}
	panic(Thrown{v})
}

// Value is the operand of the panic statement behind a recovered value.
func Value(p any) any {
	for {
		switch v := p.(type) {
		case Thrown:
			p = v.Value
		case reflect.Value:
			if !v.IsValid() || !v.CanInterface() {
				return fmt.Sprint(v)
			}
			p = v.Interface()
		default:
			return p
		}
	}
}
