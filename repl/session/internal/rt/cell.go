package rt

import "github.com/mcs-notebook/mcs/internal/goroutine"

// A Cell is the code that is stopped together: the code of a cell, which runs in parts, its deferred
// calls, the code that shows its values, and the goroutines that it has started. The goroutines may
// continue after the cell has ended.
type Cell struct {
	hooks   Hooks
	number  int           // number of the cell
	stopped chan struct{} // closed when the cell has to stop

	// Runtime.mu guards the rest.
	stop    error         // why it has to stop
	dropped bool          // the interpreter abandons its code where it is: nothing unwinds
	members int           // number of goroutines that run its code
	idle    chan struct{} // closed when the last of these goroutines has ended; nil: no goroutine waits for that
	defers  *Defers       // of the part that runs
	carried []func()      // deferred by the parts that have run
}

// Hooks are the name of a cell, and the session's functions for its code. All functions may be nil.
type Hooks struct {
	Name   string         // of the cell: In[3]
	Around func(f func()) // runs f, which is code of the cell, in the goroutine that calls it
	// Fork returns the Around for a goroutine that the calling goroutine starts; nil: Around.
	Fork func() (around func(f func()))
	// GaveUp returns why the cell was told to stop, if compiled code gives up with the panic p for that
	// reason; otherwise nil.
	GaveUp func(p any) error
	OnStop func(cause error) // called when the cell is told to stop
}

// NewCell makes a cell before any of its code runs.
func (r *Runtime) NewCell(h Hooks) *Cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	return &Cell{hooks: h, number: r.made, stopped: make(chan struct{})}
}

// Stopped is closed when the cell is told to stop.
func (c *Cell) Stopped() <-chan struct{} { return c.stopped }

// Cause is why a cell has to stop, or nil.
func (r *Runtime) Cause(c *Cell) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.stop
}

// Idle returns a channel that is closed when no goroutine runs code of the cell.
func (r *Runtime) Idle(c *Cell) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.idle == nil {
		c.idle = make(chan struct{})
		if c.members == 0 {
			close(c.idle)
		}
	}
	return c.idle
}

// Waiting reports whether calls wait for the end of the cell.
func (c *Cell) Waiting() bool { return len(c.carried) > 0 }

// A Run is one execution of code of a cell.
type Run struct {
	cell   *Cell
	by     uint64 // the goroutine that runs it; 0: it has not begun
	outer  *Run   // which was under way when this one began: that of a command that runs Go
	part   bool   // of the cell's body, to whose end calls are deferred
	more   bool   // more of the body runs after it: deferred calls wait
	quit   bool   // it has executed a return statement
	around func(f func())
	finish func()
	ended  chan struct{}
	out    Outcome
}

// An Outcome is how a run ended.
type Outcome struct {
	Panicked bool
	Stop     error    // why it was stopped, if that is why it panicked
	Value    any      // the value of its panic
	Text     string   // the text of the value
	Mute     bool     // the value could not be asked: that panics in turn, or does not end
	Trace    []string // the interpreter's lines about that, innermost function first
	Stack    []byte   // the goroutine's stack
	Quit     bool     // it has executed a return statement
	Exited   bool     // it has called runtime.Goexit, or was dropped
}

// A Part describes a run. The zero Part is code outside of the body of the cell, like a command or the
// rendering of a value.
type Part struct {
	Body bool // it is part of the cell's body
	More bool // more of the body runs after it, so deferred calls must wait
	// Around is that of the code itself; nil: that of the cell.
	Around func(f func())
	// Finish is called when the code has run to its end, before the deferred calls, like its last
	// statement.
	Finish func()
}

// Begin announces a run: the code that calls [Runtime.Run] is to follow.
func (r *Runtime) Begin(c *Cell, p Part) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &Run{cell: c, outer: r.run, part: p.Body, more: p.More, around: p.Around, finish: p.Finish, ended: make(chan struct{})}
	if n.around == nil {
		n.around = c.within
	}
	r.run = n
	if p.Body {
		r.shown = nil
	}
	return n
}

// Ended is closed when the code has ended.
func (n *Run) Ended() <-chan struct{} { return n.ended }

// Outcome is how the run ended; ask when it has.
func (n *Run) Outcome() Outcome { return n.out }

// GiveUp gives up a run that does not end: later code does not belong to it.
func (r *Runtime) GiveUp(n *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(n)
}

// leave takes a run off the list of those that are under way. The caller holds mu.
func (r *Runtime) leave(n *Run) {
	for at := &r.run; *at != nil; at = &(*at).outer {
		if *at == n {
			*at = n.outer
			return
		}
	}
}

// Run is called by lowered code with the body of a cell, and by package session with code that runs like
// one. It ends the run that was begun last. The last part of a body makes the deferred calls of the cell.
func (r *Runtime) Run(body func()) {
	r.mu.Lock()
	n := r.run
	c := n.cell
	n.by = goroutine.Number()
	r.mu.Unlock()
	leave := r.join(c)
	defers := &Defers{r: r}
	if n.part {
		r.mu.Lock()
		defers.calls, c.carried, c.defers = c.carried, nil, defers
		if c.stop != nil { // only its deferred calls are still to be made
			defers.value, defers.pending = Stopped{c.stop}, true
		}
		r.mu.Unlock()
	}
	defer func() {
		n.out.Quit = n.quit
		r.mu.Lock()
		r.leave(n)
		r.mu.Unlock()
		leave()
		close(n.ended)
	}()
	n.around(func() {
		r.contained(n, func() {
			defers.around(func(d *Defers) {
				if d.pending {
					return
				}
				body()
				if n.finish != nil && !n.quit {
					n.finish()
				}
				if n.more && !n.quit {
					c.carried, d.calls = d.calls, nil
				}
			})
		})
		if n.out.Panicked {
			r.tell(&n.out, c)
		}
	})
}

// contained runs f and notes how it has ended.
func (r *Runtime) contained(n *Run, f func()) {
	n.out.Exited = true
	defer func() {
		if p := recover(); p != nil {
			t := r.takeTrace()
			n.out = Outcome{Panicked: true, Value: p, Trace: t.lines, Stack: t.stack}
		}
	}()
	f()
	n.out.Exited = false
}

// tell finds the text of a panic while the cell is still guarded, because code of the cell may make the
// text.
func (r *Runtime) tell(o *Outcome, c *Cell) {
	p, before := o.Value, r.Cause(c)
	if stop, ok := p.(Stopped); ok {
		o.Stop = stop.Cause
		return
	}
	o.Mute = true
	defer func() { _ = recover() }()
	o.Value = Value(p)
	if cause, ok := IsStop(o.Value); ok {
		o.Stop = cause
		return
	}
	o.Value = GoError(o.Value)
	o.Text = PanicText(o.Value)
	o.Mute = r.Cause(c) != before
}

// fork is called by a goroutine that starts another one; the other one runs its code inside of around.
func (c *Cell) fork() (around func(f func())) {
	if c.hooks.Fork == nil {
		return c.within
	}
	return c.hooks.Fork()
}

func (c *Cell) within(f func()) {
	if c.hooks.Around == nil {
		f()
		return
	}
	c.hooks.Around(f)
}

// join notes that this goroutine runs code of a cell, until leave is called.
func (r *Runtime) join(c *Cell) (leave func()) {
	g := goroutine.Number()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cells[g] = c
	c.members++
	return func() { r.depart(g, c) }
}

func (r *Runtime) depart(g uint64, c *Cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cells, g)
	delete(r.traces, g) // of panics that compiled code recovered, and of runtime.Goexit
	delete(r.unwinding, g)
	if c.members--; c.members == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	r.settle()
}

// Interrupt tells a cell to stop, with the goroutines that it has started.
func (r *Runtime) Interrupt(c *Cell, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt(c, cause)
}

// Drop is Interrupt while the interpreter is halted: the goroutines of the cell, and nothing else, are let go
// to where it drops them.
func (r *Runtime) Drop(c *Cell, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.dropped = true
	r.interrupt(c, cause)
}

// InterruptAll tells everything to stop.
func (r *Runtime) InterruptAll(cause error) {
	r.InterruptOthers(cause)
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := r.run; n != nil; n = n.outer {
		r.interrupt(n.cell, cause)
	}
}

// InterruptOthers tells the goroutines of cells that do not run any more to stop.
func (r *Runtime) InterruptOthers(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := map[*Cell]bool{}
	for n := r.run; n != nil; n = n.outer {
		current[n.cell] = true
	}
	for _, c := range r.cells {
		if !current[c] {
			r.interrupt(c, cause)
		}
	}
}

func (r *Runtime) interrupt(c *Cell, cause error) {
	if c.stop != nil {
		return
	}
	c.stop = cause
	close(c.stopped)
	if c.hooks.OnStop != nil {
		c.hooks.OnStop(cause)
	}
	r.wakeAll()
}

// wakeAll has lowered code look whether it has to stop. The caller holds mu.
func (r *Runtime) wakeAll() {
	r.shared.stop(true)
	r.stopping.Store(true)
	close(r.woken)
	r.woken = make(chan struct{})
}

// settle clears the stop flag once all code that was told to stop has ended, or is making its deferred
// calls. The caller holds mu.
func (r *Runtime) settle() {
	if r.parked != nil {
		return
	}
	for g, c := range r.cells {
		if c.stop != nil && !r.stops(g) {
			return
		}
	}
	r.shared.stop(false)
	r.stopping.Store(false)
}

// Park stops the goroutines that have not been told to stop, at their next step, until release is called.
// So they survive when the interpreter is halted, which abandons all running code.
func (r *Runtime) Park() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parked != nil {
		return func() {}
	}
	parked := make(chan struct{})
	r.parked = parked
	r.wakeAll()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.parked = nil
		close(parked)
		r.settle()
	}
}

// belongs returns the cell of goroutine g. A worker of the engine that calls back belongs to the running
// cell. The caller holds mu.
func (r *Runtime) belongs(g uint64) *Cell {
	if c := r.cells[g]; c != nil {
		return c
	}
	if r.run != nil {
		return r.run.cell
	}
	return r.nobody
}

// here is the cell of the calling goroutine.
func (r *Runtime) here() *Cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.belongs(goroutine.Number())
}

// Dropped says whether the interpreter drops the calls of a cell.
func (r *Runtime) Dropped(c *Cell) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.dropped
}

// drops says whether the calls of this goroutine are dropped.
func (r *Runtime) drops() bool { return r.stopping.Load() && r.Dropped(r.here()) }

// CellOf is the cell of a goroutine, or nil.
func (r *Runtime) CellOf(g uint64) *Cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cells[g]
}

// Busy reports whether any goroutine runs code of cells.
func (r *Runtime) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run != nil || len(r.cells) > 0
}

// Goroutines are the goroutines that run code of cells. Where some runs, the first is that of the run that
// was begun last, or 0 if it is about to begin; numbers do not tell which goroutine is older.
func (r *Runtime) Goroutines() (list []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		list = append(list, r.run.by)
	}
	for g := range r.cells {
		if r.run == nil || g != r.run.by {
			list = append(list, g)
		}
	}
	return list
}

// Others says whether a goroutine runs code of another cell.
func (r *Runtime) Others(than *Cell) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		if c != than {
			return true
		}
	}
	return false
}

// Runs says whether a goroutine runs code of a cell with this name.
func (r *Runtime) Runs(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		if c.hooks.Name == name {
			return true
		}
	}
	return false
}

// Newest is the newest cell that has goroutines, or nil.
func (r *Runtime) Newest() (newest *Cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		if newest == nil || c.number > newest.number {
			newest = c
		}
	}
	return newest
}

// Current is the cell that runs, or nil where there are only goroutines of earlier ones.
func (r *Runtime) Current() *Cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return nil
	}
	return r.run.cell
}

// cause returns why this goroutine has to stop, or nil if it does not have to, or is making its deferred
// calls already. If parked is not nil, the goroutine has to wait until parked is closed, or its cell is
// told to stop.
func (r *Runtime) cause() (parked, stopped <-chan struct{}, cause error) {
	if !r.stopping.Load() {
		return nil, nil, nil
	}
	g := goroutine.Number()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.belongs(g)
	if c.dropped || r.stops(g) {
		return nil, nil, nil
	}
	if c.stop != nil {
		return nil, nil, c.stop
	}
	return r.parked, c.stopped, nil
}

// givesUp returns the meaning of a panic: the panic itself, or the stop of its cell.
func (r *Runtime) givesUp(p any) any {
	if p == nil {
		return nil
	}
	c := r.here()
	if c.hooks.GaveUp == nil {
		return p
	}
	if cause := c.hooks.GaveUp(p); cause != nil {
		return Stopped{cause}
	}
	return p
}

// Recovered returns the text of a panic that ends code of cells called by compiled code. If the cell was
// told to stop, it goes on stopping.
func (r *Runtime) Recovered(p any) string {
	if p := r.givesUp(p); p != nil {
		if _, stopped := p.(Stopped); stopped {
			panic(p)
		}
	}
	return PanicText(Value(p))
}

// Go starts f in a goroutine. A panic in f is reported and does not end the process. The goroutine belongs
// to the cell from now on, though it may begin after the cell has ended: until then it has a number that
// no goroutine has.
func (r *Runtime) Go(where int, f func()) {
	r.mu.Lock()
	r.started++
	n := r.started
	c, place := r.belongs(goroutine.Number()), 1<<63|n
	r.cells[place] = c
	c.members++
	r.going[n] = true
	r.mu.Unlock()
	go r.Contain(where, func() {
		r.depart(place, c)
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.going, n)
		}()
		f()
	})()
}

// Started is how many goroutines cells have started so far.
func (r *Runtime) Started() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

// Going is how many of the goroutines go on that cells have started after the first so many.
func (r *Runtime) Going(first uint64) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.going {
		if n > first {
			count++
		}
	}
	return count
}

// Contain returns f for compiled code that calls it in another goroutine, where it belongs to the cell of
// this one. A panic in it is reported and ends nothing else.
func (r *Runtime) Contain(where int, f func()) func() { return r.contain(where, f, func() {}) }

// ContainThen is Contain for compiled code that needs to know of the panic: then is called after the
// report.
func (r *Runtime) ContainThen(then func()) func(where int, f func()) func() {
	return func(where int, f func()) func() { return r.contain(where, f, then) }
}

func (r *Runtime) contain(where int, f func(), then func()) func() {
	c := r.here()
	around := c.fork()
	return func() {
		defer r.join(c)()
		around(func() { r.reported(c, where, f, then) })
	}
}

// reported runs f and reports its panic. Code of the cell may make the text of the panic's value.
func (r *Runtime) reported(c *Cell, where int, f func(), then func()) {
	n := new(Run)
	r.contained(n, f)
	if !n.out.Panicked {
		return
	}
	n.out.Value = r.givesUp(n.out.Value)
	if r.tell(&n.out, c); n.out.Stop == nil && r.Crashed != nil {
		r.Crashed(where, n.out)
		then()
	}
}
