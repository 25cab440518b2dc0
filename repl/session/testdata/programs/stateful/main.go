package main

import (
	"fmt"
	"os"
	"strings"
)

type State int

const (
	Idle State = iota
	Running
	Stopped
)

var names = map[State]string{Idle: "idle", Running: "running", Stopped: "stopped"}

func (s State) String() string { return names[s] }

type Event struct {
	Name string
	From []State
	To   State
}

type Machine struct {
	State
	events  map[string]Event
	history []State
	onEnter map[State]func(*Machine)
}

func NewMachine(events ...Event) *Machine {
	m := &Machine{events: make(map[string]Event, len(events)), onEnter: map[State]func(*Machine){}}
	for _, e := range events {
		m.events[e.Name] = e
	}
	return m
}

func (m *Machine) Fire(name string) (err error) {
	e, ok := m.events[name]
	if !ok {
		return fmt.Errorf("no event %q", name)
	}
	for _, s := range e.From {
		if s == m.State {
			m.history = append(m.history, m.State)
			m.State = e.To
			if f := m.onEnter[e.To]; f != nil {
				f(m)
			}
			return nil
		}
	}
	return fmt.Errorf("%s: not when %v", name, m.State)
}

type visitor interface {
	visit(n *Node, depth int) (visitor, bool)
}
type Node struct {
	Name     string
	Children []*Node
	parent   *Node
}

func (n *Node) Add(names ...string) *Node {
	for _, s := range names {
		n.Children = append(n.Children, &Node{Name: s, parent: n})
	}
	return n
}
func (n *Node) walk(v visitor, depth int) {
	v, ok := v.visit(n, depth)
	if !ok {
		return
	}
	for _, c := range n.Children {
		c.walk(v, depth+1)
	}
}

type printer struct{ out *strings.Builder }

func (p printer) visit(n *Node, d int) (visitor, bool) {
	fmt.Fprintf(p.out, "%s%s\n", strings.Repeat("  ", d), n.Name)
	return p, n.Name != "skip"
}

type option func(*config)
type config struct {
	name    string
	retries int
	verbose bool
}

func withName(s string) option { return func(c *config) { c.name = s } }
func verbose(c *config)        { c.verbose = true }
func build(opts ...option) config {
	c := config{name: "default", retries: 3}
	for _, o := range opts {
		o(&c)
	}
	return c
}

var registry = map[string]func(args ...string) error{}

func init() {
	registry["echo"] = func(args ...string) error { _, err := fmt.Println(strings.Join(args, " ")); return err }
	registry["fail"] = func(...string) error { return os.ErrInvalid }
}

var total = compute(depends)
var depends = 21

func compute(n int) int { return n * 2 }

func main() {
	m := NewMachine(Event{"start", []State{Idle, Stopped}, Running}, Event{"stop", []State{Running}, Stopped})
	m.onEnter[Running] = func(m *Machine) { fmt.Println("entering", m.State, "after", m.history) }
	fmt.Println(m.Fire("stop"), m.Fire("start"), m.Fire("stop"), m.Fire("start"), m.Fire("fly"), m.State, m)
	root := (&Node{Name: "root"}).Add("a", "skip", "b")
	root.Children[0].Add("a1", "a2")
	root.Children[1].Add("hidden")
	var b strings.Builder
	root.walk(printer{&b}, 0)
	fmt.Print(b.String(), root.Children[0].Children[1].parent.parent == root, "\n")
	fmt.Printf("%+v %v\n", build(withName("x"), verbose), build())
	for _, cmd := range [][]string{{"echo", "a", "b"}, {"fail"}, {"none"}} {
		if f, ok := registry[cmd[0]]; !ok {
			fmt.Println("unknown", cmd[0])
		} else if err := f(cmd[1:]...); err != nil {
			fmt.Println(cmd[0], err)
		}
	}
	fmt.Println(total, depends)
	type local struct {
		a, b int
	}
	seen := map[local]bool{{1, 2}: true}
	pt := &[]local{{3, 4}}
	(*pt)[0].a++
	fmt.Println(seen[local{1, 2}], (*pt)[0], len(os.Args) > 0)
	x := 5
	p := &x
	pp := &p
	**pp = 6
	if y := x * 2; y > 10 {
		fmt.Println("y", y)
	} else if z := y; z > 0 {
		fmt.Println("z", z)
	}
	goto end
end:
	fmt.Println("end", *p)
}
