package help

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/cursor"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// maxKeys is how many keys of a map are listed.
const maxKeys = 1000

// keys returns the keys of the map whose index is at the cursor, in order, or nil: where the map is no
// variable or a part of one, where its keys have no short text, and while goroutines of cells run, which may
// write to it.
func (pl *place) keys() []reflect.Value {
	l := pl.Inner()
	if pl.Facts == nil || !pl.h.Quiet() {
		return nil
	}
	at := pl.position(l)
	for _, n := range pl.path {
		x, ok := n.(*ast.IndexExpr)
		if !ok || x.Lbrack != at {
			continue
		}
		m := pl.valueOf(x.X)
		if m.Kind() != reflect.Map || m.Len() > maxKeys {
			return nil
		}
		list := m.MapKeys()
		slices.SortFunc(list, compareKeys)
		return list
	}
	return pl.named(l)
}

// named are the names that the receiver of a call has itself, where the argument is one of them: the columns
// of a table, in its order.
func (pl *place) named(l *cursor.Level) (list []reflect.Value) {
	call, p := pl.parameter(l)
	if p == nil || !slices.Contains([]string{"name", "names", "from", "on", "index", "across"}, p.Name()) {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	v := pl.valueOf(sel.X)
	if v.IsValid() && v.CanAddr() && v.Addr().CanInterface() {
		if x, ok := reflect.TypeAssert[interface{ Names() []string }](v.Addr()); ok {
			for _, name := range x.Names() {
				list = append(list, reflect.ValueOf(name))
			}
		}
	}
	return list
}

// compareKeys orders keys as maps are shown.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	return cmp.Compare(a.String(), b.String())
}

// keyText writes a key as Go does, or returns "" for a key that has no short text.
func keyText(key reflect.Value) string {
	switch {
	case key.Kind() == reflect.String:
		return strconv.Quote(key.String())
	case key.Kind() == reflect.Bool:
		return strconv.FormatBool(key.Bool())
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10)
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10)
	case key.CanFloat():
		return strconv.FormatFloat(key.Float(), 'g', -1, key.Type().Bits())
	}
	return ""
}

// completeKey completes the text of a string that is a key of a map, with the escapes of its quotes.
func (pl *place) completeKey(before string) (from int, list []Completion) {
	text := pl.Prefix
	from = len(before) - len(text)
	raw := before[from-1] == '`'
	for _, key := range pl.keys() {
		if key.Kind() != reflect.String {
			return from, nil
		}
		quoted := strconv.Quote(key.String())
		quoted = quoted[1 : len(quoted)-1]
		if raw {
			if quoted = key.String(); !strconv.CanBackquote(quoted) {
				continue
			}
		}
		if strings.HasPrefix(quoted, text) {
			list = append(list, Completion{Text: quoted, Kind: "key"})
		}
	}
	return from, list
}

// addKeys adds the keys of the map whose index begins at the cursor.
func (c *candidates) addKeys() {
	if c.Prefix != "" {
		return
	}
	for i, key := range c.keys() {
		if text := keyText(key); text != "" {
			c.seen[text] = true
			c.list = append(c.list, candidate{Completion: Completion{Text: text, Kind: "key"}, group: fieldGroup - maxKeys + i})
		}
	}
}

// valueOf returns the value of an expression that can be looked up without running code: a variable of the
// session, a field, and an element of a map with a constant key.
func (pl *place) valueOf(x ast.Expr) reflect.Value {
	var v reflect.Value
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		e := pl.h.World().Names[x.Name]
		if e == nil || e.Kind != world.Var || pl.Info.Uses[x] == nil || pl.Info.Uses[x] != e.Obj {
			return v
		}
		value, _ := pl.h.Value(e)
		v = reflect.ValueOf(value)
	case *ast.SelectorExpr:
		if s := pl.Info.Selections[x]; s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 {
			return v
		}
		if v = pl.valueOf(x.X); v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(x.Sel.Name)
	case *ast.IndexExpr:
		key := pl.Info.Types[x.Index].Value
		if v = pl.valueOf(x.X); key == nil || v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String || key.Kind() != constant.String {
			return reflect.Value{}
		}
		v = v.MapIndex(reflect.ValueOf(constant.StringVal(key)).Convert(v.Type().Key()))
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}
