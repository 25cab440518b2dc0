package rt

import (
	"reflect"
	"time"
)

// Sleep is time.Sleep for cells.
func (r *Runtime) Sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	defer r.waits()()
	for {
		wake := r.wake()
		if r.stop() {
			return
		}
		select {
		case <-t.C:
			return
		case <-wake:
		}
	}
}

// Recv receives from ch into *p and reports whether it got a value that was sent. It can be interrupted.
func (r *Runtime) Recv(ch, p any) bool {
	s := r.NewSelect()
	s.Recv(ch, p)
	s.Wait(false)
	return s.OK
}

// Send sends *p. It can be interrupted.
func (r *Runtime) Send(ch, p any) {
	s := r.NewSelect()
	s.Send(ch, p)
	s.Wait(false)
}

// A Select is a select statement: its cases are added in order, then Wait picks one.
type Select struct {
	r     *Runtime
	cases []reflect.SelectCase
	into  []reflect.Value
	OK    bool // the chosen case received a value that was sent
}

// NewSelect starts a select statement.
func (r *Runtime) NewSelect() *Select { return &Select{r: r} }

// Recv adds a case that receives into *p; p may be nil.
func (s *Select) Recv(ch, p any) {
	s.cases = append(s.cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: channel(ch)})
	s.into = append(s.into, reflect.ValueOf(p))
}

// Send adds a case that sends *p.
func (s *Select) Send(ch, p any) {
	s.cases = append(s.cases, reflect.SelectCase{Dir: reflect.SelectSend, Chan: channel(ch), Send: reflect.ValueOf(p).Elem()})
	s.into = append(s.into, reflect.Value{})
}

// channel returns the channel in ch, or the zero Value for a nil channel, which reflect.Select never
// chooses.
func channel(ch any) reflect.Value {
	c := Inner(reflect.ValueOf(ch))
	if !c.IsValid() || c.IsNil() {
		return reflect.Value{}
	}
	return c
}

// Wait chooses a case and returns its index. It returns -1 for the default case, if there is one and no
// other case is ready.
func (s *Select) Wait(hasDefault bool) int {
	n := len(s.cases)
	defer s.r.waits()()
	if n == 0 && !hasDefault {
		s.never()
		return -1
	}
	for {
		wake := s.r.wake()
		if s.r.stop() {
			return -1
		}
		last := reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(wake)}
		if hasDefault {
			last = reflect.SelectCase{Dir: reflect.SelectDefault}
		}
		k, v, ok := reflect.Select(append(s.cases[:n:n], last))
		if k == n && hasDefault {
			return -1
		}
		if k == n {
			continue
		}
		s.OK = ok
		if p := s.into[k]; p.IsValid() && p.Kind() == reflect.Pointer && !p.IsNil() {
			p.Elem().Set(v)
		}
		return k
	}
}

// never waits until it is interrupted.
func (s *Select) never() {
	for {
		wake := s.r.wake()
		if s.r.stop() {
			return
		}
		<-wake
	}
}
