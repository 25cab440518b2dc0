package help

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/cursor"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
)

// A Completion is one way to go on at the cursor.
type Completion struct {
	Text   string // replaces the bytes From…cursor
	Kind   string // "var", "func", "method", "field", "type", "package", "magic", "flag", "file", "keyword"
	Detail string // signature or type
	Doc    string // first sentence, or empty
}

// Complete lists ways to go on at byte pos of a cell, the likeliest first. Each replaces the bytes
// from…pos. They begin with the typed letters; if no name does, with the letters in another case; if none
// does either, they have the letters in order from the start of a word. Where a value of a type is wanted,
// values of that type come first. The cell may be unfinished or wrong.
func (h *Helper) Complete(cell string, pos int) (from int, list []Completion) {
	pl := h.place(cell, pos)
	if pl == nil {
		return pos, nil
	}
	switch pl.Kind {
	case cursor.String:
		return pl.completeString(cell[:pos])
	case cursor.Literal:
		return pos, nil
	}
	if pl.Facts == nil {
		return pos, nil
	}
	c := &candidates{place: pl, seen: map[string]bool{}, after: cell[pos:]}
	c.find()
	return pl.start + pl.From, c.sorted()
}

// candidates collects the completions for a place.
type candidates struct {
	*place
	after  string     // the cell behind the cursor
	want   types.Type // type of the value at the cursor; nil if any type fits
	typing bool       // a type is wanted
	list   []candidate
	seen   map[string]bool
}

// A candidate is a completion with its ranks: lower ranks come first.
type candidate struct {
	Completion
	about func() (detail, doc string) // nil if they are set; looked up late, because few candidates are listed
	match int                         // how it matches the typed letters: prefix, prefix in another case, letters in order
	fit   int                         // how its type matches the wanted type: 0 exactly
	group int                         // where it is declared: the nearer, the lower
}

// Groups of candidates, the nearest first.
const (
	fieldGroup  = iota // of the literal that the cursor is in
	localGroup         // of a function of the cell
	ownGroup           // of the session; a newer one has a lower rank
	engineGroup = 1 << 20
	packageGroup
	universeGroup
	keywordGroup
)

// find collects the candidates.
func (c *candidates) find() {
	n := len(c.path)
	switch {
	case c.afterIf():
		c.addKeywords("else")
		return
	case strings.HasPrefix(c.Rest, "default"): // in a switch, before its first clause
		c.addKeywords("case", "default")
		return
	}
	if !c.found() || n < 2 {
		return
	}
	id := c.path[n-1].(*ast.Ident)
	switch parent := c.path[n-2].(type) {
	case *ast.SelectorExpr:
		if parent.Sel == id {
			c.expectAt(n - 2)
			c.members(parent.X)
			return
		}
	case *ast.BranchStmt:
		for _, n := range c.path {
			if l, ok := n.(*ast.LabeledStmt); ok {
				c.add(Completion{Text: l.Label.Name, Kind: "label"}, nil, localGroup)
			}
		}
		return
	case *ast.FuncDecl, *ast.LabeledStmt:
		return // the cursor is in a new name
	case *ast.Field, *ast.TypeSpec:
		if !c.typePosition(n - 1) {
			return
		}
	case *ast.ValueSpec:
		if slices.Contains(parent.Names, id) {
			return
		}
	}
	c.expectAt(n - 1)
	c.literalFields(n - 1)
	if len(c.list) > 0 && c.Prefix == "" {
		return
	}
	c.addKeys()
	c.names()
	c.constants()
	c.keywords()
}

// add adds a candidate that matches the typed letters. T is its type, nil if it has none.
func (c *candidates) add(x Completion, t types.Type, group int) { c.addWith(x, nil, t, group) }

// addWith is add for a candidate whose signature and documentation are looked up later.
func (c *candidates) addWith(x Completion, about func() (detail, doc string), t types.Type, group int) {
	if c.seen[x.Text] || strings.HasPrefix(x.Text, "__") || strings.HasPrefix(x.Text, cursor.Name) || x.Text == "cell__" || x.Text == "_" {
		return
	}
	if c.typing && x.Kind != "type" && x.Kind != "package" && x.Kind != "keyword" {
		return
	}
	match, ok := matches(x.Text, c.Prefix)
	if !ok || match > 0 && group >= packageGroup {
		return
	}
	c.seen[x.Text] = true
	c.list = append(c.list, candidate{x, about, match, c.fits(x.Kind, t), group})
}

// matches ranks a name against the typed letters: 0 for a prefix, 1 for a prefix in another case, 2 if the
// name has the letters in order, the first at the start of a word, and 3 if only in another case.
func matches(name, typed string) (rank int, ok bool) {
	if strings.HasPrefix(name, typed) {
		return 0, true
	}
	if len(name) >= len(typed) && strings.EqualFold(name[:len(typed)], typed) {
		return 1, true
	}
	if utf8.RuneCountInString(typed) < 2 {
		return 0, false
	}
	word := true
	for i, r := range name {
		if word || unicode.IsUpper(r) {
			if subsequence(name[i:], typed, func(n, r rune) bool { return n == r || unicode.ToLower(r) == r && unicode.ToLower(n) == r }) {
				return 2, true
			}
			if subsequence(name[i:], typed, sameLetter) {
				rank = 3
			}
		}
		word = r == '_'
	}
	return rank, rank > 0
}

// subsequence says whether a name begins with the first typed letter and has the others behind it, in order.
func subsequence(name, typed string, same func(n, r rune) bool) bool {
	for i, r := range typed {
		at := strings.IndexFunc(name, func(n rune) bool { return same(n, r) })
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[at:])
		name = name[at+size:]
	}
	return true
}

func sameLetter(n, r rune) bool { return unicode.ToLower(n) == unicode.ToLower(r) }

// fits ranks a candidate's type against the wanted type.
func (c *candidates) fits(kind string, t types.Type) int {
	if c.typing || c.want == nil || t == nil || kind == "type" || kind == "package" {
		return 2
	}
	if types.Identical(types.Default(t), c.want) {
		return 0
	}
	if sig, ok := t.Underlying().(*types.Signature); ok && sig.Results().Len() == 1 && types.Identical(sig.Results().At(0).Type(), c.want) {
		return 1
	}
	if i, ok := c.want.Underlying().(*types.Interface); (!ok || !i.Empty()) && types.AssignableTo(t, c.want) {
		return 1
	}
	return 2
}

// MaxListed is the largest number of listed completions: nobody scrolls further.
const MaxListed = 500

// sorted returns the candidates in order, each with its documentation.
func (c *candidates) sorted() []Completion {
	slices.SortFunc(c.list, func(a, b candidate) int {
		return cmp.Or(a.match-b.match, a.fit-b.fit, a.group-b.group, strings.Compare(a.Text, b.Text))
	})
	list := make([]Completion, 0, min(len(c.list), MaxListed))
	for i, x := range c.list {
		if x.match != c.list[0].match || i == MaxListed {
			break
		}
		if x.about != nil {
			x.Detail, x.Doc = x.about()
		}
		list = append(list, x.Completion)
	}
	return list
}

// members completes the name after a dot.
func (c *candidates) members(x ast.Expr) {
	if name, ok := c.place.object(x).(*types.PkgName); ok {
		pkg := name.Imported()
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				about := func() (string, string) { return detail(o), firstSentence(c.h.Doc(pkg.Path(), name)) }
				c.addWith(Completion{Text: name, Kind: kindOfObject(o)}, about, o.Type(), ownGroup)
			}
		}
		return
	}
	tv := c.Info.Types[x]
	if !known(tv.Type) {
		return
	}
	list := python.Members(tv.Type)
	if tv.IsType() { // a method expression
		list = nil
		for method := range types.NewMethodSet(tv.Type).Methods() {
			if python.Visible(method.Obj()) {
				list = append(list, method.Obj())
			}
		}
	}
	for _, o := range list {
		about := func() (string, string) { return detail(o), c.h.memberDoc(c.st, tv.Type, o) }
		c.addWith(Completion{Text: o.Name(), Kind: kindOfObject(o)}, about, o.Type(), ownGroup)
	}
}

// literalFields completes a key of a struct literal, from the fields that the literal does not set yet.
func (c *candidates) literalFields(at int) {
	l := c.Inner()
	lit, t, u := c.structAt(l)
	if u == nil || l.Key != "" || l.Commas > len(l.Keys) || c.path[at-1] != ast.Node(lit) {
		return
	}
	given := append(slices.Clone(l.Keys), keysAfter(c.after)...)
	colon := ": "
	if strings.HasPrefix(strings.TrimLeft(c.after, " "), ":") {
		colon = ""
	}
	for i := range u.NumFields() {
		if f := u.Field(i); python.Visible(f) && !slices.Contains(given, f.Name()) {
			c.add(Completion{Text: f.Name() + colon, Kind: "field", Detail: detail(f), Doc: c.h.memberDoc(c.st, t, f)}, nil, fieldGroup+i-1000)
		}
	}
}

// keysAfter returns the keys of a literal behind the cursor.
func keysAfter(src string) (keys []string) {
	list := cell.Code(cell.ScanGo(src))
	depth := 0
	for i, t := range list {
		if depth += cell.Nesting(t.Tok); depth < 0 {
			break
		}
		if depth == 0 && t.Tok == token.COLON && i > 0 && list[i-1].Tok == token.IDENT {
			keys = append(keys, list[i-1].Text(src))
		}
	}
	return keys
}
