package supervise

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// Goroutines returns the set of the process's goroutines.
func Goroutines() map[uint64]bool {
	ids := map[uint64]bool{}
	for _, g := range goroutines() {
		ids[g.id] = true
	}
	return ids
}

// A goroutineState is the runtime's description of a goroutine.
type goroutineState struct {
	id, parent     uint64 // its number, and that of the goroutine that has started it
	state, creator string
	stack          []byte
}

var (
	goroutineHead    = lazy.Regexp(`^goroutine (\d+) [^\[]*\[([^\],]*)`)
	goroutineCreator = lazy.Regexp(`(?m)^created by (\S+) in goroutine (\d+)`)
)

// goroutines returns all goroutines of the process, or nil if their stacks are too long to read.
func goroutines() (list []goroutineState) {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 64<<20 {
		buf = make([]byte, 2*n)
		n = runtime.Stack(buf, true)
	}
	if n == len(buf) {
		return nil
	}
	buf = buf[:n]
	for stack := range bytes.SplitSeq(buf, []byte("\n\n")) {
		m := goroutineHead().FindSubmatch(stack)
		if m == nil {
			continue
		}
		g := goroutineState{state: string(m[2]), stack: stack}
		g.id, _ = strconv.ParseUint(string(m[1]), 10, 64)
		if c := goroutineCreator().FindSubmatch(stack); c != nil {
			g.creator = string(c[1])
			g.parent, _ = strconv.ParseUint(string(c[2]), 10, 64)
		}
		list = append(list, g)
	}
	return list
}

// inside says whether a goroutine is in a method of package rt.
func (g goroutineState) inside(method string) bool {
	return bytes.Contains(g.stack, []byte("/rt.(*"+method+"("))
}

// works says whether the call that a goroutine is in is one of mcs itself: of the engine, of a command, or of
// the session that prepares code. It waits for goroutines that are no code of cells. A call of package rt is
// one that code of cells makes, and below supervise.(*Runner).supervise are other goroutines of that code.
func (g goroutineState) works() bool {
	for line := range bytes.Lines(g.stack) {
		name, own := bytes.CutPrefix(line, []byte("github.com/mcs-notebook/mcs/"))
		in := func(prefix string) bool { return bytes.HasPrefix(name, []byte("repl/session/internal/"+prefix)) }
		switch {
		case bytes.HasPrefix(line, []byte("github.com/traefik/yaegi/")), in("yaegi."), in("supervise.(*Runner).supervise"):
			return false
		case own && !in("rt.") && !in("library."):
			return true
		}
	}
	return false
}

// supervises says whether a goroutine waits for one that runs code for it, which may just begin or have
// ended.
func (g goroutineState) supervises() bool {
	for line := range bytes.Lines(g.stack) {
		if name, own := bytes.CutPrefix(line, []byte("github.com/mcs-notebook/mcs/repl/session/internal/")); own {
			return bytes.HasPrefix(name, []byte("supervise.(*Runner).supervise"))
		}
	}
	return false
}

// waitsFor returns why a goroutine waits for another one, in the runtime's words. It is empty if the
// goroutine does not wait, or waits for something else: "semacquire" is a wait for the runtime, such as for
// the start of a collection.
func (g goroutineState) waitsFor() string {
	switch {
	case g.state == "running" || g.state == "runnable" || g.inside("Runtime).Sleep") || g.works(): // its wait may be over
		return ""
	case g.inside("Select).never"):
		return "select (no cases)"
	case g.inside("Runtime).Recv"):
		return "chan receive"
	case g.inside("Runtime).Send"):
		return "chan send"
	case strings.HasPrefix(g.state, "sync."), strings.HasPrefix(g.state, "chan "), strings.HasPrefix(g.state, "select"):
		return g.state
	}
	return ""
}
