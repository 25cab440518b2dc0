package tensor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// FirstNonFinite looks for the first tensor on the way to t that holds NaN or an infinity, and describes it;
// it returns "" if all are finite. It evaluates every step on the way by itself, so it is slow: it is for
// finding out why a loss is NaN. It passes over infinities that depend on no parameter, as in a mask.
func FirstNonFinite(t Tensor) string {
	for _, n := range ir.History(t.node("first_non_finite")) {
		if n.Outs != nil || !n.DType.Float() {
			continue
		}
		if n.Value() == nil {
			check("first_non_finite", plan.Run(scope.Context(), []*ir.Node{n}))
		}
		nan, inf := nonFinite(wrap(n))
		if nan > 0 || inf > 0 && n.Tracked {
			return fmt.Sprintf("%s: %s of %d elements", describe(n), counts(nan, inf), ir.Size(n.Shape))
		}
	}
	return ""
}

func nonFinite(t Tensor) (nan, inf int) {
	for _, v := range t.Float64s() {
		switch {
		case math.IsNaN(v):
			nan++
		case math.IsInf(v, 0):
			inf++
		}
	}
	return nan, inf
}

func counts(nan, inf int) string {
	switch {
	case inf == 0:
		return fmt.Sprintf("%d NaN", nan)
	case nan == 0:
		return fmt.Sprintf("%d Inf", inf)
	}
	return fmt.Sprintf("%d NaN and %d Inf", nan, inf)
}

// describe says what a node is: its name and type, or its op, its type and where in the model that is: the
// names that are nearest on the way to it.
func describe(n *ir.Node) string {
	if n.Name != "" || len(n.Src) == 0 {
		return n.String()
	}
	op := n
	for op.Op == ir.Pick {
		op = op.Src[0]
	}
	text := fmt.Sprintf("%v %v", op.Op, n.Type())
	names, direct := nearestNames(op)
	switch {
	case len(names) == 0:
		return text
	case direct:
		return text + " of " + strings.Join(names, ", ")
	}
	return text + " after " + strings.Join(names, ", ")
}

// nearestNames goes back from n, one generation of ancestors after the other, until some have names. They are
// direct when only views lie between.
func nearestNames(n *ir.Node) (names []string, direct bool) {
	seen := map[*ir.Node]bool{}
	direct = true
	for level := n.Src; len(level) > 0 && len(names) == 0; {
		var next []*ir.Node
		for _, s := range level {
			for s.Name == "" && isView(s) {
				s = s.Src[0]
			}
			if s.Name != "" && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
			if !seen[s] {
				seen[s] = true
				next = append(next, s.Src...)
			}
		}
		if len(names) == 0 {
			direct = false
		}
		level = next
	}
	return names, direct
}

func isView(n *ir.Node) bool {
	return len(n.Src) == 1 && (ir.RowOf(n.Op).Family == ir.FamilyView || n.Op == ir.Detach)
}
