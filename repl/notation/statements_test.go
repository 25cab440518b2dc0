package notation

import (
	"go/ast"
	"strings"
	"testing"
)

func TestStatements(t *testing.T) {
	for _, tt := range []struct{ text, assigned, before, last string }{
		{"x := 1; y = x[1:2, :]; f(y)  ", "y", "x := 1; y = x[1:2, :]; ", "f(y)"},
		{"n++\nfor i, n = range x { m += i }\na.b = 2\n(x)", "n m", "n++\nfor i, n = range x { m += i }\na.b = 2\n", "(x)"},
		{"x", "", "", "x"},
	} {
		s, err := ParseStatements(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		n := len(s.List) - 1
		x := s.Expr(s.List[n].(*ast.ExprStmt).X)
		if got := strings.Join(s.Assigned(), " "); got != tt.assigned || s.Before(n).Text != tt.before || x.Text != tt.last {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", tt.text, got, s.Before(n).Text, x.Text, tt.assigned, tt.before, tt.last)
		}
		if at := x.Offset(x.List[0].Pos()); at != 0 {
			t.Errorf("%s: the expression begins at %d, want 0", tt.text, at)
		}
	}
	for _, text := range []string{"x :=", "}; func f() {", "func f() {}"} {
		if s, err := ParseStatements(text); err == nil || s.List != nil || s.Text != text {
			t.Errorf("%s: got %v, %v, want the text and an error", text, s, err)
		}
	}
}
