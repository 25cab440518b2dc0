package yaegi

import (
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"sync"

	"github.com/traefik/yaegi/interp"
)

// A node is a node of the interpreter's syntax tree: the fields that are used here, in the places that they
// have there, which [layout] looks at.
type node struct {
	_      *opaque
	child  []*node
	anc    *node
	_      []*opaque
	start  *node // the first step of the node
	tnext  *node // the next node
	fnext  *node // the next node if the condition is false
	_      *opaque
	_      int64
	findex int // where its value is in the frame
	level  int // how many frames up
	_      int
	nright int // how many values it assigns
	kind   uint
	pos    token.Pos
	sym    *symbol        // that it names, or nil
	typ    *typeOf        // of its value
	recv   *opaque        // the receiver of a method that it names
	types  []reflect.Type // of the frame's values, if it is a function: results, parameters, and the rest
	scope  *scope
	action uint
	exec   step        // its step; nil: not made yet
	gen    func(*node) // makes that
	val    any         // a *node of the interpreter's, if it is the declaration of a function
	rval   reflect.Value
	ident  string
}

// A step runs a node and returns the next step; nil ends the function.
type step func(*frame) step

// A symbol is the meaning of a name.
type symbol struct {
	_      uint
	_      *opaque
	node   *node // that declares it
	_      []*opaque
	_      *opaque
	index  int // where its value is in the frame; negative: nowhere
	_      reflect.Value
	_      func(*node)
	global bool
}

// A frame has the variables of a call. All its fields are the interpreter's, because this package makes
// frames, too.
type frame struct {
	id        uint64 // number of the run that it belongs to
	debug     *opaque
	root      *frame // that of the package
	anc       *frame // that of the function around
	data      []value
	mutex     sync.RWMutex
	deferred  [][]reflect.Value
	recovered any
	done      reflect.SelectCase
}

// A typeOf is a type as the interpreter describes it, see [itype].
type typeOf struct {
	cat      uint
	_        []*opaque
	_, _, _  *opaque
	arg, ret []*typeOf // of a function
}

// A scope is where names are known.
type scope struct {
	_     *opaque
	_     []*opaque
	def   *node // the function around, or nil
	_, _  *opaque
	pkgID string
}

// opaque is a part that this package never reads.
type opaque struct{}

// kinds has the numbers of the node kinds that this package distinguishes, and the signs of all operations
// by number.
type kinds struct {
	function, assignment, variable, goroutine, deferred, returned, assigned, defined, declaration, literal, index, call uint
	actions                                                                                                             []string

	made, called uintptr // the code of functions of package reflect, and of closures: see [kinds.closureOf]

	node reflect.Type // the interpreter's
}

// layout looks whether the interpreter's nodes, symbols and frames are as they are taken for here, and how it
// numbers the kinds of nodes.
var layout = sync.OnceValues(func() (k kinds, err error) {
	root, ok := reflect.TypeFor[interp.Program]().FieldByName("root")
	if !ok || root.Type.Kind() != reflect.Pointer {
		return k, otherwise("programs")
	}
	n := root.Type.Elem()
	if !fits(reflect.TypeFor[node](), n) {
		return k, otherwise("nodes")
	}
	k.node = n
	sym, _ := n.FieldByName("sym")
	top, ok := reflect.TypeFor[interp.Interpreter]().FieldByName("frame")
	if !ok || !fits(reflect.TypeFor[symbol](), sym.Type.Elem()) || !fits(reflect.TypeFor[frame](), top.Type.Elem()) || reflect.TypeFor[frame]().Size() != top.Type.Elem().Size() {
		return k, otherwise("variables")
	}
	typ, _ := n.FieldByName("typ")
	around, _ := n.FieldByName("scope")
	if !fits(reflect.TypeFor[typeOf](), typ.Type.Elem()) || !fits(reflect.TypeFor[scope](), around.Type.Elem()) {
		return k, otherwise("types and scopes")
	}
	if !valuesFit() || !k.closuresFit() || inRegisters && !registersFit() {
		return k, errors.New("yaegi: values and calls are other ones than Go 1.26's")
	}
	kind, _ := n.FieldByName("kind")
	for name, to := range map[string]*uint{"funcType": &k.function, "assignStmt": &k.assignment, "defineStmt": &k.variable, "goStmt": &k.goroutine, "deferStmt": &k.deferred, "returnStmt": &k.returned,
		"assignXStmt": &k.assigned, "defineXStmt": &k.defined, "funcDecl": &k.declaration, "funcLit": &k.literal, "indexExpr": &k.index} {
		if *to, ok = numberOf(kind.Type, name); !ok {
			return k, otherwise("kinds of nodes")
		}
	}
	action, _ := n.FieldByName("action")
	if k.call, ok = numberOf(action.Type, "call"); !ok {
		return k, otherwise("calls")
	}
	for i := range uint64(numbers) {
		name, ok := nameOf(action.Type, i)
		if !ok {
			return k, otherwise("operations")
		}
		k.actions = append(k.actions, name)
	}
	return k, nil
})

func otherwise(what string) error {
	return fmt.Errorf("yaegi: this version keeps its %s in another way than v0.16.1", what)
}

// fits says whether a struct of the interpreter has the named fields of one of this package, of the same
// kinds in the same places.
func fits(own, its reflect.Type) bool {
	if its.Kind() != reflect.Struct {
		return false
	}
	for f := range own.Fields() {
		if f.Name == "_" {
			continue
		}
		g, ok := its.FieldByName(f.Name)
		if !ok || g.Offset != f.Offset || g.Type.Kind() != f.Type.Kind() || g.Type.Size() != f.Type.Size() {
			return false
		}
	}
	return true
}

// numbers is more than there are kinds of nodes, or of operations.
const numbers = 200

// nameOf is the name of a number of a type that has names for them.
func nameOf(t reflect.Type, number uint64) (name string, ok bool) {
	v := reflect.New(t).Elem()
	if !v.CanUint() || !t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return "", false
	}
	v.SetUint(number)
	return v.Interface().(fmt.Stringer).String(), true
}

// numberOf is the number of a type that has this name.
func numberOf(t reflect.Type, name string) (number uint, ok bool) {
	for i := range uint64(numbers) {
		if got, ok := nameOf(t, i); ok && got == name {
			return uint(i), true
		}
	}
	return 0, false
}
