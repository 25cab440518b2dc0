package ir_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// Few files name an op: its number and row here, its meaning in ref, its loop in cpu, and the function that
// people call, and what it is for complex numbers. The table has all of them for one op of each kind. So an
// engineer that adds an op knows which files to change, and that the planner is none of them.
func TestPlacesOfAnOp(t *testing.T) {
	files, names := engineFiles(t), opNames(t)
	for _, c := range []struct {
		what   string
		op     ir.Op
		places []string
	}{
		{"a function that package vec has", ir.Log1p, []string{
			"ir/op.go", "ir/table_elementwise.go",
			"backend/ref/elementwise.go", "backend/cpu/tile/funcs.go", "backend/cpu/tile/double.go", "tensor/math.go",
		}},
		{"a function that it does not have", ir.Atan2, []string{
			"ir/op.go", "ir/table_elementwise.go", "backend/ref/elementwise.go", "backend/cpu/tile/double.go", "tensor/math.go",
		}},
		{"an integer's op", ir.Shl, []string{
			"ir/op.go", "ir/table_elementwise.go", "backend/ref/elementwise.go", "backend/cpu/tile/funcs.go", "tensor/bits.go",
		}},
		{"a reduction", ir.Prod, []string{
			"ir/op.go", "ir/table_reduce.go", "backend/ref/reduce.go", "backend/cpu/fold.go", "tensor/reduce.go", "tensor/complexrules.go",
		}},
		{"a row op", ir.SoftmaxGrad, []string{
			"ir/op.go", "ir/table_row.go", "ir/grad_fused.go", "backend/ref/row.go", "backend/cpu/rowops.go", "kernel/rowops.go",
		}},
		{"a view", ir.Flip, []string{
			"ir/op.go", "ir/table_view.go", "ir/grad_shape.go", "ir/layout.go", "plan/view.go", "tensor/shape.go", "tensor/complexrules.go",
		}},
		{"an op that runs alone", ir.TopK, []string{
			"ir/op.go", "ir/table_index.go", "backend/ref/index.go", "backend/cpu/single.go", "kernel/single.go", "tensor/index.go",
		}},
		{"a heavy op", ir.Attention, []string{
			"ir/op.go", "ir/table_attention.go", "backend/ref/attention.go", "backend/cpu/single.go", "kernel/single.go",
			"tensor/attention.go",
		}},
		{"its gradient", ir.AttentionGrad, []string{
			"ir/op.go", "ir/table_attention.go", "ir/grad_fused.go", "backend/ref/attention.go", "backend/cpu/single.go", "backend/cpu/attention.go",
			"backend/cpu/double_attention.go", "kernel/single.go", "kernel/attention.go", "kernel/attend.go", "kernel/attention_products.go",
		}},
	} {
		var got []string
		for _, f := range files {
			if f.names(names[c.op]) {
				got = append(got, f.place)
			}
		}
		slices.Sort(c.places)
		if slices.Sort(got); !slices.Equal(got, c.places) {
			t.Errorf("%s, %v, is named in\n%v, want\n%v", c.what, c.op, got, c.places)
		}
	}
}

// Each op of these families is named in all of these files. A GPU's kernel finds an elementwise op by its
// name.
func TestEachOpHasItsPlaces(t *testing.T) {
	files, names := engineFiles(t), opNames(t)
	blocks, err := os.ReadFile(filepath.Join("..", "..", "..", "shaders", "scalar.metal"))
	if err != nil {
		t.Skip("the blocks of kernels are not beside the sources: ", err)
	}
	for family, places := range map[ir.Family][]string{
		ir.FamilyElementwise: {"backend/ref/", "backend/cpu/tile/", "tensor/"},
		ir.FamilyRow:         {"backend/ref/", "backend/cpu/rowops.go", "kernel/rowops.go"},
	} {
		for _, r := range ir.Rows() {
			if r.Family != family {
				continue
			}
			for _, place := range places {
				if !slices.ContainsFunc(files, func(f goFile) bool { return strings.HasPrefix(f.place, place) && f.names(names[r.Op]) }) {
					t.Errorf("%s: %s does not name ir.%s", r.Name, place, names[r.Op])
				}
			}
			if family == ir.FamilyElementwise && r.Op != ir.Cast && r.Op != ir.Bitcast && !strings.Contains(string(blocks), " op_"+r.Name+"(") {
				t.Errorf("%s: shaders/scalar.metal has no op_%s", r.Name, r.Name)
			}
		}
	}
}

// Each op was run by the backends that need no device.
func TestEachOpIsRecorded(t *testing.T) {
	for name, pkg := range map[string]string{"ref": "backend/ref", "cpu": "backend/cpu", "emulated": "testing/emulated"} {
		record := backendtest.Record(name)
		for _, r := range ir.Rows() {
			if r.Name != "" && backendtest.HasCases(r.Op) && record[r.Name] == nil {
				t.Errorf("%[1]s: not recorded for %s: go test ./engine/internal/%s -run 'Conformance$/^%[1]s$' -record", r.Name, name, pkg)
			}
		}
	}
}

// Which ops are elementwise, reductions, rows or views stands in the table. A list of more than three ops of
// one family in the planner is a second table, which the next op is missing from.
func TestPlannerListsNoOps(t *testing.T) {
	family, names := map[string]ir.Family{}, opNames(t)
	for _, r := range ir.Rows() {
		family[names[r.Op]] = r.Family
	}
	for _, f := range engineFiles(t) {
		if !strings.HasPrefix(f.place, "plan/") {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			clause, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			count := map[ir.Family]int{}
			for _, e := range clause.List {
				if s, ok := e.(*ast.SelectorExpr); ok && fmt.Sprint(s.X) == "ir" {
					if fam, ok := family[s.Sel.Name]; ok {
						count[fam]++
					}
				}
			}
			for fam, n := range count {
				if n > 3 {
					t.Errorf("%s: a case lists %d ops of family %v, want the family asked", f.fset.Position(clause.Pos()), n, fam)
				}
			}
			return true
		})
	}
}

// A goFile is a file of the engine that is neither a test nor a generator.
type goFile struct {
	place string // "plan/view.go"
	fset  *token.FileSet
	file  *ast.File
}

// names says whether the file has code that names the op. Functions and fields of that name are others.
func (f goFile) names(op string) (found bool) {
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if fmt.Sprint(n.X) == "ir" {
				found = found || n.Sel.Name == op
			} else {
				ast.Inspect(n.X, visit)
			}
			return false
		case *ast.FuncDecl:
			if n.Body != nil {
				ast.Inspect(n.Body, visit)
			}
			return false
		case *ast.Ident:
			found = found || strings.HasPrefix(f.place, "ir/") && n.Name == op
		}
		return true
	}
	ast.Inspect(f.file, visit)
	return found
}

func engineFiles(t *testing.T) (files []goFile) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"gen", "backendtest", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := goFile{place: strings.TrimPrefix(filepath.ToSlash(rel), "internal/"), fset: token.NewFileSet()}
		if f.file, err = parser.ParseFile(f.fset, path, nil, 0); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// opNames are the Go names of the ops by number.
func opNames(t *testing.T) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "op.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					names = append(names, name.Name)
				}
			}
			break
		}
	}
	if want := int(ir.NumOps) + 1; len(names) != want {
		t.Fatalf("got %d names of ops in op.go, want %d", len(names), want)
	}
	return names
}
