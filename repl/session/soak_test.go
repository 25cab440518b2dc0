package session

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"testing"
)

var soak = flag.Int("soak", 300, "how many cells TestSoak runs")

// A soaker makes cells and knows the text that the session shows for each variable.
type soaker struct {
	r    *rand.Rand
	vars map[string]string // of the integers and strings
	ints []string
	n    int
}

// step makes the next cell: its text, what it must show ("-": anything), whether it is interrupted, and the
// error that it must end in.
func (k *soaker) step() (cell, shown string, interrupted bool, failure string) {
	k.n++
	name := fmt.Sprintf("v%d", k.r.IntN(40))
	value := k.r.IntN(1000)
	set := func(text string) { k.vars[name] = text }
	now, isInt := k.vars[name], false
	for _, v := range k.ints {
		isInt = isInt || v == name
	}
	setInt := func(n int) {
		set(fmt.Sprint(n))
		if !isInt {
			k.ints = append(k.ints, name)
		}
	}
	kind := k.r.IntN(14)
	if !isInt && kind > 2 { // the rest need a number
		kind = 0
	}
	var old int
	if isInt {
		fmt.Sscan(now, &old)
	}
	switch kind {
	case 0:
		setInt(value)
		return fmt.Sprintf("%s := %d", name, value), "", false, ""
	case 1:
		text := fmt.Sprintf("text %d", value)
		set(fmt.Sprintf("%q", text))
		k.ints = remove(k.ints, name)
		return fmt.Sprintf("%s := %q; %s", name, text, name), k.vars[name], false, ""
	case 2:
		return fmt.Sprintf("%s = undefined%d + 1", name, value), "", false, "undefined: undefined"
	case 3:
		setInt(old + value)
		return fmt.Sprintf("%s += %d; %s", name, value, name), k.vars[name], false, ""
	case 4:
		setInt(value)
		return fmt.Sprintf("%s = %d; panic(\"stop\")\n%s = -1", name, value, name), "", false, "panic: stop"
	case 5:
		setInt(value)
		return fmt.Sprintf("%s = %d; fmt.Print(1)\nfor {}\n%s = -1", name, value, name), "", true, "interrupted"
	case 6:
		return fmt.Sprintf("func f%d(n int) int { return n + %s", k.r.IntN(20), name), "", false, "missing }"
	case 7:
		f := fmt.Sprintf("f%d", k.r.IntN(20))
		return fmt.Sprintf("func %s(n int) int { return 2*n + %s }\n%s(%d)", f, name, f, value), fmt.Sprint(2*value + old), false, ""
	case 8:
		setInt(2 * old % 10007)
		return fmt.Sprintf("ch := make(chan int); go func() { ch <- %s * 2 %% 10007 }()\n%s = <-ch; %s", name, name, name), k.vars[name], false, ""
	case 9:
		return fmt.Sprintf("x := tensor.Full(%d, 128, 128); y := x.MatMul(x).Mean(); int(y.Item())", value%10), fmt.Sprint(value % 10 * (value % 10) * 128), false, ""
	case 10:
		return fmt.Sprintf("big := make([]byte, 1<<20); big[%d] = 7; len(big) + %s", value, name), fmt.Sprint(1<<20 + old), false, ""
	case 11:
		return fmt.Sprintf("type T%d struct{ A, B int }\nT%[1]d{%d, %s}.B", k.r.IntN(10), value, name), fmt.Sprint(old), false, ""
	case 12:
		return fmt.Sprintf("go func() { for range %d { time.Sleep(time.Millisecond) } }()\n%s", value%20, name), now, false, ""
	}
	return fmt.Sprintf("get := func() int { return %s }\nget()", name), now, false, ""
}

func remove(list []string, name string) (rest []string) {
	for _, s := range list {
		if s != name {
			rest = append(rest, s)
		}
	}
	return rest
}

// A long session of cells that fail, panic, are interrupted, declare things anew, start goroutines and make
// tensors: no variable is lost, none is wrong, and memory does not grow. The full one has -soak 5000.
func TestSoak(t *testing.T) {
	assigned := make(signal, 1) // printed by the cells that are interrupted: a busy machine may not have begun with them
	s, err := New(Options{Stdout: assigned})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := &soaker{r: rand.New(rand.NewPCG(1, 2)), vars: map[string]string{}}
	var before int
	for i := range *soak {
		if i == *soak/5 {
			before = resident(t)
		}
		cell, want, interrupted, failure := k.step()
		ctx, cancel := context.WithCancel(t.Context())
		if interrupted {
			go func() {
				<-assigned
				cancel()
			}()
		}
		r := s.Run(ctx, cell)
		cancel()
		shown := ""
		for _, v := range r.Shown {
			shown += v.Text(80)
		}
		switch {
		case interrupted && !errors.Is(r.Err, ErrInterrupted):
			t.Fatalf("cell %d was not interrupted: %v\n%s", i, r.Err, cell)
		case failure == "" && r.Err != nil, failure != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), failure)):
			t.Fatalf("cell %d: got error %v, want %q\n%s", i, r.Err, failure, cell)
		case failure == "" && shown != want:
			t.Fatalf("cell %d shows %s, want %s\n%s", i, shown, want, cell)
		}
		if i%50 == 0 || i == *soak-1 {
			k.compare(t, s)
		}
	}
	if grown := resident(t) - before; before > 0 && grown > 100<<20 {
		t.Errorf("%d cells: the process has grown by %d MiB, want less than 100", *soak, grown>>20)
	} else {
		t.Logf("%d cells, %d variables: the process has grown by %d MiB", *soak, len(k.vars), grown>>20)
	}
}

// compare compares all variables with their expected values.
func (k *soaker) compare(t *testing.T, s *Session) {
	t.Helper()
	var names []string
	for name := range k.vars {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if got := run(t, s, name); got != k.vars[name] {
			t.Errorf("after %d cells %s is %s, want %s", k.n, name, got, k.vars[name])
		}
	}
}

// resident is how much memory the process has in use, or 0 where the system does not tell.
func resident(t *testing.T) int {
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, pages int
	if _, err := fmt.Sscan(string(text), &total, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
