package ir

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// An Origin says where a node comes from. It is zero for a node that was made in a scope that does not ask.
type Origin struct {
	Place string // what the front end calls the statement that ran, see [Origin.Line]; empty if it does not know
	Op    Op     // what was called; of a gradient, the operation whose gradient it is
	Pass  Pass
}

// A Pass is a part of a training step.
type Pass uint8

const (
	Forward Pass = iota
	Backward
	Optimizer
)

var passNames = [...]string{"forward", "backward", "optimizer"}

// String returns the pass in lower case.
func (p Pass) String() string { return passNames[p] }

// Line is what the front end calls the statement that ran: "In[3]:2". Place may have all that were under way,
// a line each, of which this is the innermost.
func (o Origin) Line() string { return o.Place[strings.LastIndexByte(o.Place, '\n')+1:] }

// Known says whether somebody asked when the node was made.
func (o Origin) Known() bool { return o.Op != Invalid }

// Origins writes down where a launch comes from: "In[3]:2 matmul, silu", "In[3]:2 backward of matmul". It is
// one text for each place and pass, in the order of the list.
func Origins(list []Origin) (texts []string) {
	var of []Origin // of each text the first
	for k, o := range list {
		same := func(p Origin) bool { return p.Line() == o.Line() && p.Op == o.Op && p.Pass == o.Pass }
		if slices.ContainsFunc(list[:k], same) {
			continue
		}
		i := slices.IndexFunc(of, func(p Origin) bool { return p.Line() == o.Line() && p.Pass == o.Pass })
		if i >= 0 {
			texts[i] += ", " + o.Op.String()
			continue
		}
		text := o.Op.String()
		switch o.Pass {
		case Backward:
			text = "backward of " + text
		case Optimizer:
			text = "optimizer: " + text
		}
		of, texts = append(of, o), append(texts, strings.TrimSpace(o.Line()+" "+text))
	}
	return texts
}

// An asker is the setting of a scope whose nodes have to know their origin.
type asker struct {
	place func(op string) string
	pass  Pass
}

var origins = &scope.Key{Name: "origins"}

// asked is set by the first WithPlaces. A process without one, such as a compiled program, makes nodes
// without looking for a scope.
var asked atomic.Bool

// WithPlaces returns a context within which nodes know their origin. place is called with the name of the op
// for each node, by the goroutine that makes it, and says where the program is.
func WithPlaces(ctx context.Context, place func(op string) string) context.Context {
	asked.Store(true)
	return context.WithValue(ctx, origins, &asker{place: place})
}

// InPass calls f. The nodes that f makes belong to that pass.
func InPass(p Pass, f func()) {
	a := asking()
	if a == nil {
		f()
		return
	}
	scope.Within(context.WithValue(scope.Context(), origins, &asker{place: a.place, pass: p}), f)
}

// Stack is where code within ctx is: a line for each place under way, the outermost first; empty if ctx does
// not ask.
func Stack(ctx context.Context) string {
	if a, ok := ctx.Value(origins).(*asker); ok {
		return a.place("")
	}
	return ""
}

// asking returns the asker of the calling goroutine's scope, or nil if nodes need no origin.
func asking() *asker {
	if !asked.Load() {
		return nil
	}
	a, _ := scope.Context().Value(origins).(*asker)
	return a
}

// note gives a new node its origin if the scope asks for it.
func (n *Node) note() {
	if a := asking(); a != nil {
		n.Origin = Origin{a.place(n.Op.String()), n.Op, a.pass}
	}
}

// A blame gives the nodes of gradients their origins: the place and the op of the forward pass whose gradient
// they belong to.
type blame struct {
	asked bool
	place string // of the call of Grad, for nodes of the forward pass that do not know theirs
}

func newBlame() blame {
	a := asking()
	if a == nil {
		return blame{}
	}
	return blame{true, a.place("grad")}
}

// on blames n for the new nodes that grads are computed from.
func (b blame) on(n *Node, grads ...*Node) {
	b.from(Origin{cmp.Or(n.Origin.Place, b.place), n.Op, Backward}, grads...)
}

// from gives an origin to the new nodes that grads are computed from. A node that has one ends the search: so
// each is looked at once.
func (b blame) from(from Origin, grads ...*Node) {
	if !b.asked {
		return
	}
	list := append([]*Node(nil), grads...)
	for len(list) > 0 {
		g := list[len(list)-1]
		list = list[:len(list)-1]
		if g == nil || g == nothing || g.counted || g.Origin.Known() {
			continue
		}
		g.Origin = from
		list = append(list, g.Src...)
	}
}
