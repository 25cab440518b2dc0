package compile

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A function that is declared again replaces its earlier declarations for all callers. Code that is
// compiled later calls the newest declaration by its name. Code that was compiled earlier, and every copy
// of the function as a value, calls the declaration that it knows, and that declaration passes the call on
// (see [lower.Version]).

// A lineage is the list of a function's declarations that have one signature, with the same declarations
// of types.
type lineage struct {
	key    string           // key of the function
	sig    *types.Signature // with the receiver as its first parameter
	newest string           // the variable that the older versions call
	stale  string           // the flag of the newest version
}

// A version is a declaration that a unit adds to a lineage.
type version struct {
	of     *lineage
	first  bool       // the lineage is new with the unit
	before []*lineage // lineages whose declarations the version replaces
	stale  string
	name   string // name of the function in the interpreter
	typ    ast.Expr
}

// version makes a new version of the function that has this key and this name in the interpreter.
func (v *env) version(l *lower.Lowerer, key, name string, f *types.Func) (lower.Version, error) {
	if v.compiler.Once {
		return lower.Version{}, nil
	}
	sig := asFunction(f.Signature())
	n := &version{name: name, stale: v.compiler.World.Fresh("·stale")}
	for _, old := range v.compiler.lineages[key] {
		if SameShape(old.sig, sig) {
			n.before = append(n.before, old)
		}
		if types.Identical(old.sig, sig) {
			n.of = old
		}
	}
	if n.of == nil {
		typ, err := l.Type(sig, v.u.pos)
		if err != nil {
			return lower.Version{}, err
		}
		n.of, n.first, n.typ = &lineage{key: key, sig: sig, newest: v.compiler.World.Fresh("·newest")}, true, typ
	}
	v.versions = append(v.versions, n)
	return lower.Version{Stale: n.stale, Newest: n.of.newest}, nil
}

// asFunction returns the signature of a method as that of a function. Parameters and results have no
// names.
func asFunction(sig *types.Signature) *types.Signature {
	var params, results []*types.Var
	add := func(list *[]*types.Var, v *types.Var) {
		*list = append(*list, types.NewParam(token.NoPos, nil, "", v.Type()))
	}
	if sig.Recv() != nil {
		add(&params, sig.Recv())
	}
	for v := range sig.Params().Variables() {
		add(&params, v)
	}
	for v := range sig.Results().Variables() {
		add(&results, v)
	}
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), types.NewTuple(results...), sig.Variadic())
}

// declareVersions declares the variables of the unit's versions, and makes earlier versions call them.
func (v *env) declareVersions() (vars []ast.Decl, tell []ast.Stmt) {
	addr := func(name string) ast.Expr { return &ast.UnaryExpr{OpPos: v.u.pos, Op: token.AND, X: v.id(name)} }
	for _, n := range v.versions {
		vars = append(vars, v.varDecl(n.stale, v.id("bool")))
		if n.first {
			vars = append(vars, v.varDecl(n.of.newest, v.spelled(n.typ)))
		}
		for _, old := range n.before {
			tell = append(tell, v.rtCall("Forward", addr(old.newest), v.id(n.name), addr(old.stale)))
		}
	}
	return vars, tell
}

// SameShape says whether two types are identical, if types that were declared again with the same
// underlying type count as the same. A value of one is then, bit for bit, a value of the other.
func SameShape(a, b types.Type) bool {
	return types.Identical(a, b) || alike(a, b, map[[2]*types.Named]bool{})
}

func alike(a, b types.Type, seen map[[2]*types.Named]bool) bool {
	if world.Unversioned(a) != world.Unversioned(b) {
		return false
	}
	var in [2][]*types.Named
	for i, t := range []types.Type{a, b} {
		world.WalkNamed(t, func(n *types.Named) { in[i] = append(in[i], n) })
	}
	for i := range min(len(in[0]), len(in[1])) {
		pair := [2]*types.Named{in[0][i], in[1][i]}
		if seen[pair] || types.Identical(pair[0], pair[1]) {
			continue
		}
		seen[pair] = true
		if !alike(pair[0].Underlying(), pair[1].Underlying(), seen) {
			return false
		}
	}
	return len(in[0]) == len(in[1])
}
