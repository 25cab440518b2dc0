package help

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/near"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/stdlib"

	"golang.org/x/tools/go/ast/astutil"
)

// An advisor finds what the user probably meant where the checker complains.
type advisor struct {
	h   *Helper
	st  *world.Stage
	c   *Facts
	pos token.Pos
}

// A rule matches a form of the checker's messages and gives advice: a row of tables/messages.txt.
type rule struct {
	message *regexp.Regexp
	say     string
}

var rules = sync.OnceValue(func() (list []rule) {
	forms := strings.NewReplacer("{number}", `((?:u?int(?:8|16|32|64)?)|float(?:32|64))`, "{tensor}", ` \(.* of struct type tensor\.Tensor\)`)
	for _, row := range rows("messages") {
		list = append(list, rule{regexp.MustCompile(forms.Replace(row[0])), row[1]})
	}
	return list
})

// advisors are the functions that rows name.
var advisors = map[string]func(a *advisor, msg string, groups []string) (newMsg, hint string){
	"ofTensor": (*advisor).ofTensor, "otherMember": (*advisor).otherMember, "otherName": (*advisor).otherName,
	"undefinedMember": (*advisor).undefinedMember, "undefinedName": (*advisor).undefinedName, "noMember": (*advisor).noMember, "unknownField": (*advisor).unknownField,
	"condition": (*advisor).condition, "anew": (*advisor).anew, "constructor": (*advisor).constructor, "parameters": (*advisor).parameters,
	"calledField": (*advisor).calledField, "element": (*advisor).element, "spread": (*advisor).spread, "topReturn": (*advisor).topReturn,
	"earlier": (*advisor).earlier, "hidden": (*advisor).hidden,
}

// advise follows a rule, which m are the groups of.
func (a *advisor) advise(r rule, msg string, m []string) (newMsg, hint string) {
	if name, ok := strings.CutPrefix(r.say, "@"); ok {
		return advisors[name](a, msg, m)
	}
	text := groupName().ReplaceAllStringFunc(r.say, func(group string) string { return m[group[1]-'0'] })
	switch how, rest, _ := strings.Cut(text, ": "); {
	case how == "says":
		return rest, ""
	case how == "same" && m[len(m)-1] != m[len(m)-2]:
		return msg, ""
	case how == "same":
		return msg, rest
	case how == "go":
		return msg, cmp.Or(a.inGo(), rest)
	}
	return msg, text
}

// groupName matches a group in what a row says.
var groupName = lazy.Regexp(`\$\d`)

// otherMember is about a name that differs in its case only.
func (a *advisor) otherMember(msg string, m []string) (string, string) {
	if goLine := a.more(a.line()); goLine != "" {
		return msg, goLine
	}
	name := m[2]
	if _, called := a.selector(); m[1] == "method " && !called {
		name += "()"
	}
	return strings.Replace(msg, m[0], ")", 1), "did you mean " + name + "?"
}

func (a *advisor) otherName(_ string, m []string) (string, string) {
	return "undefined: " + m[1] + "." + m[2], cmp.Or(a.more(a.line()), "did you mean "+m[3]+"?")
}

// Suggest words a message and finds a suggestion for it.
func (h *Helper) Suggest(st *world.Stage, c *Facts, pos token.Pos, msg string) (newMsg, hint string) {
	newMsg, hint = (&advisor{h, st, c, pos}).suggest(c.oneName(msg))
	return c.oneName(newMsg), hint
}

// qualified matches a name of a package.
var qualified = lazy.Regexp(`\b[a-z]\w*\.[A-Z]\w*`)

// oneName writes a type that a message has under the names of two packages under that of its own one.
func (c *Facts) oneName(msg string) string {
	return qualified().ReplaceAllStringFunc(msg, func(name string) string {
		pkg, member, _ := strings.Cut(name, ".")
		if p, ok := c.Pkg.Scope().Lookup(pkg).(*types.PkgName); ok {
			if o, ok := p.Imported().Scope().Lookup(member).(*types.TypeName); ok && o.IsAlias() {
				if own := world.TypeString(types.Unalias(o.Type())); strings.Contains(msg, own) {
					return own
				}
			}
		}
		return name
	})
}

// suggest is Suggest for a message with one name for each type.
func (a *advisor) suggest(msg string) (newMsg, hint string) {
	for _, r := range rules() {
		if m := r.message.FindStringSubmatch(msg); m != nil {
			if said, hint := a.advise(r, msg, m); hint != "" || said != msg {
				return said, hint
			}
		}
	}
	goLine := a.inGo()
	if name, ok := strings.CutPrefix(msg, "undefined: "); ok && mentions(goLine, name) {
		goLine = "" // the same would be complained about
	}
	return msg, goLine
}

// line returns the line of the complaint.
func (a *advisor) line() string {
	text, n := a.h.Text(a.pos)
	return cell.Line(text, n)
}

// inGo returns the line of the complaint as Go, if it reads as Python.
func (a *advisor) inGo() string {
	text, n := a.h.Text(a.pos)
	return a.h.translated(a.st, text, n)
}

// more returns the line of the complaint as Go, if that differs from a line in more than the case of a name
// and the brackets of a call.
func (a *advisor) more(line string) string {
	brackets := strings.NewReplacer("()", "")
	goLine := a.inGo()
	if sameCode(brackets.Replace(goLine), brackets.Replace("write "+line)) {
		return ""
	}
	return goLine
}

// path returns the nodes around the place of the complaint, the innermost first.
func (a *advisor) path() []ast.Node {
	for _, f := range a.c.Files {
		if f.FileStart <= a.pos && a.pos <= f.FileEnd || f.Pos() <= a.pos && a.pos < f.End() {
			list, _ := astutil.PathEnclosingInterval(f, a.pos, a.pos)
			return list
		}
	}
	return nil
}

// around returns the innermost node of a type around a place, of those that the path has, or its zero.
func around[T ast.Node](path []ast.Node) (found T) {
	for _, n := range path {
		if n, ok := n.(T); ok {
			return n
		}
	}
	return found
}

// unknownField is about a field that a struct literal has and its type has not.
func (a *advisor) unknownField(msg string, m []string) (string, string) {
	var names []string
	if st, ok := underlying(a.c.Info.TypeOf(around[*ast.CompositeLit](a.path()))).(*types.Struct); ok {
		for f := range st.Fields() {
			if python.Visible(f) {
				names = append(names, f.Name())
			}
		}
	}
	fields := strings.Join(names, ", ")
	if near := DidYouMean(m[1], names); near != "" || fields == "" {
		return msg, near
	}
	return msg, "it has " + fields
}

func (a *advisor) undefinedMember(msg string, m []string) (string, string) {
	pkg, name := m[1], m[2]
	o, _ := a.c.Pkg.Scope().Lookup(pkg).(*types.PkgName)
	if o == nil {
		return msg, ""
	}
	for _, path := range stdlib.Paths() { // rand and template are the names of two packages
		if n, _ := stdlib.Name(path); n != o.Imported().Name() || path == o.Imported().Path() {
			continue
		}
		if a.h.exports(path, name) {
			return msg, fmt.Sprintf("%s is %s here; %s is in %s: import %q", pkg, o.Imported().Path(), name, path, path)
		}
	}
	near := DidYouMean(name, slices.DeleteFunc(o.Imported().Scope().Names(), func(n string) bool { return !token.IsExported(n) }))
	if to, ok := strings.CutPrefix(python.Callee("", name), pkg+"."); ok && pkg == "dtype" { // dtype.Float32
		near = "did you mean " + to + "?"
	}
	say := ""
	if !slices.Contains(stdlib.Engine(), o.Imported().Path()) { // time.time()
		say = a.more(a.line())
	} else if !strings.EqualFold(near, "did you mean "+name+"?") {
		say = a.foreignModule()
	}
	return msg, cmp.Or(say, near, a.methodOf(o.Imported(), name))
}

func (a *advisor) undefinedName(msg string, m []string) (string, string) {
	name := m[1]
	if name == "Out" {
		if index, ok := a.parent().(*ast.IndexExpr); ok {
			name = types.ExprString(index)
		}
		return "there is no " + name, "a cell that shows no value keeps none"
	}
	if command := a.h.leftNone(name); command != "" {
		return msg, fmt.Sprintf("%s leaves no %s: %%time %[2]s := … keeps it", command, name)
	}
	near := DidYouMean(name, a.names())
	s := around[*ast.AssignStmt](a.path())
	if s != nil && s.Tok == token.ASSIGN && slices.ContainsFunc(s.Lhs, func(x ast.Expr) bool { return x.Pos() == a.pos }) {
		if goLine := a.inGo(); goLine != "" && unblanked(goLine) != unblanked("write "+strings.Replace(a.line(), "=", ":=", 1)) {
			return msg, goLine // more than := is missing
		}
		return msg, strings.TrimSuffix("declare it with :=, or "+near, ", or ")
	}
	if near != "" && strings.EqualFold(near, "did you mean "+name+"?") {
		return msg, near
	}
	if goLine := a.inGo(); goLine != "" && !mentions(goLine, name) {
		return msg, goLine
	}
	_, qualifies := a.parent().(*ast.SelectorExpr)
	if qualifies && elsewhere.Known(name) {
		if say := a.foreignModule(); say != "" {
			return msg, say
		}
	}
	if say, ok := ForeignNames()[name]; ok {
		return msg, a.h.pasteable(say, a.line())
	}
	if qualifies {
		return msg, a.nearPackage(name)
	}
	if unicode.IsUpper(rune(name[0])) && near == "" {
		if say := a.bare(name); say != "" {
			return msg, say
		}
	}
	if full := a.h.exportedAs(name); full != "" {
		return msg, "did you mean " + full + "?"
	}
	if say := a.bare(name); near == "" && say != "" {
		return msg, say
	}
	if near == "" {
		near = DidYouMean(name, types.Universe.Names())
	}
	return msg, near
}

// nearPackage suggests a name or a package for a misspelt one, or the package that has what is selected.
func (a *advisor) nearPackage(name string) (has string) {
	sel, _ := a.parent().(*ast.SelectorExpr)
	names := a.names()
	for _, path := range stdlib.Paths() {
		pkg, _ := stdlib.Name(path)
		names = append(names, pkg)
		if has == "" && sel != nil && len(name) > 2 && near.Edits(name, pkg) <= 2 && a.h.exports(path, sel.Sel.Name) {
			has = "did you mean " + pkg + "?"
		}
	}
	return cmp.Or(DidYouMean(name, names), has)
}

// mentions says whether a text uses a name without declaring it.
func mentions(text, name string) bool {
	if token.IsKeyword(name) || !token.IsIdentifier(name) || strings.Contains(text, name+" :=") {
		return false
	}
	return regexp.MustCompile(`(^|[^.\w])` + name + `\b`).MatchString(text)
}

// parent returns the node around the identifier of the complaint, or nil.
func (a *advisor) parent() ast.Node {
	if path := a.path(); len(path) > 1 {
		return path[1]
	}
	return nil
}

// selector returns the selection whose name the complaint is about, and whether it is called.
func (a *advisor) selector() (sel *ast.SelectorExpr, called bool) {
	sel = around[*ast.SelectorExpr](a.path())
	if sel == nil || sel.Sel.Pos() != a.pos {
		return nil, false
	}
	call := around[*ast.CallExpr](a.path())
	return sel, call != nil && call.Fun == sel
}

func (a *advisor) noMember(msg string, m []string) (string, string) {
	operand, name := m[1], m[4]
	sel, called := a.selector()
	if sel == nil {
		return msg, ""
	}
	t := a.c.Info.TypeOf(sel.X)
	if path, ok := stdlib.ImportFor(operand); ok && a.h.exports(path, name) {
		return msg, fmt.Sprintf("%s is a variable of yours that hides the package %s", operand, path)
	}
	var candidates []string
	for _, o := range python.Members(t) {
		candidates = append(candidates, o.Name())
	}
	if goLine := a.more(a.line()); goLine != "" {
		return msg, goLine
	}
	if !slices.ContainsFunc(candidates, func(c string) bool { return strings.EqualFold(c, name) }) {
		if say := a.elsewhere(python.Kind(t), name, operand); say != "" {
			return msg, say
		}
	}
	near := DidYouMean(name, candidates)
	if meant := strings.TrimSuffix(strings.TrimPrefix(near, "did you mean "), "?"); meant != "" && !called {
		o, _, _ := types.LookupFieldOrMethod(t, true, a.c.Pkg, meant)
		if f, ok := o.(*types.Func); ok && f.Signature().Params().Len() == 0 {
			return msg, "did you mean " + meant + "()?"
		}
	}
	return msg, near
}

// exports says whether a package has an exported name.
func (h *Helper) exports(path, name string) bool {
	p, err := h.Package(path)
	return err == nil && token.IsExported(name) && p.Scope().Lookup(name) != nil
}

// family returns what kind of values a type has, as python.Family does; "error" and "number" are added.
func family(t types.Type) string {
	if world.IsError(t) {
		return "error"
	}
	f := python.Family(t)
	if f == "int" || f == "float" {
		return "number"
	}
	return f
}

// topReturn explains a return at the top of a cell.
func (a *advisor) topReturn(msg string, _ []string) (string, string) {
	f := around[*ast.FuncDecl](a.path())
	if f == nil || f.Name.Name != "cell" || around[*ast.FuncLit](a.path()) != nil {
		return msg, ""
	}
	return msg, "a cell returns nothing: its last expression is shown"
}

// condition explains `if n`.
func (a *advisor) condition(msg string, _ []string) (string, string) {
	forms := map[string]string{"number": "%s != 0", "string": `%s != ""`, "error": "%s != nil", "slice": "len(%s) > 0", "map": "len(%s) > 0"}
	for _, n := range a.path() {
		e, ok := n.(ast.Expr)
		if !ok {
			break
		}
		if form := forms[family(a.c.Info.TypeOf(e))]; form != "" {
			return msg, "write " + fmt.Sprintf(form, types.ExprString(e))
		}
	}
	return msg, ""
}

// anew explains the assignment of another type to a variable of the session, which := allows.
func (a *advisor) anew(msg string, _ []string) (string, string) {
	as := around[*ast.AssignStmt](a.path())
	if as == nil || len(as.Lhs) != 1 || as.Tok != token.ASSIGN {
		return msg, ""
	}
	name := types.ExprString(as.Lhs[0])
	if e := a.st.Lookup(name); e != nil && e.Kind == world.Var {
		return msg, fmt.Sprintf("%s is %s; %[1]s := … declares it anew", name, Article(world.TypeString(e.Obj.Type())))
	}
	return msg, ""
}

// Article puts a or an before a type.
func Article(t string) string {
	if strings.ContainsRune("aeioAEIO[", rune(t[0])) {
		return "an " + t
	}
	return "a " + t
}

// ofTensor writes min(x, y) and math.Sqrt(x) of tensors as methods.
func (a *advisor) ofTensor(msg string, m []string) (string, string) {
	call := a.callAround()
	if call == nil {
		return msg, ""
	}
	at := slices.IndexFunc(call.Args, func(x ast.Expr) bool { return family(a.c.Info.TypeOf(x)) == "tensor" })
	method, of := map[string]string{"min": "Minimum", "max": "Maximum"}[types.ExprString(call.Fun)], 2
	if method == "" { // of package math: its operand comes first
		method, of = m[len(m)-1], 1
	}
	if at < 0 || at >= of || of == 2 && len(call.Args) != 2 {
		return msg, ""
	}
	if o, _, _ := types.LookupFieldOrMethod(a.c.Info.TypeOf(call.Args[at]), true, nil, method); o == nil {
		return msg, ""
	}
	var rest []string
	for i, x := range call.Args {
		if i != at {
			rest = append(rest, types.ExprString(x))
		}
	}
	return msg, fmt.Sprintf("write %s.%s(%s)", types.ExprString(call.Args[at]), method, strings.Join(rest, ", "))
}

// DidYouMean suggests the candidate that is nearest to a misspelt name. Names of two letters may differ in
// case, names of five in one letter, longer names in two or three. Missing letters are likelier than added
// ones.
func DidYouMean(name string, candidates []string) string {
	most := 3
	switch n := len(name); {
	case n <= 2:
		most = 0
	case n <= 5:
		most = 1
	case n <= 9:
		most = 2
	}
	best, least := "", 2*most+1
	sort.Strings(candidates)
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if c == name || c == "_" || strings.HasPrefix(c, "__") || strings.Contains(c, "·") { // a method, under the checker's name
			continue
		}
		d := 2 * near.Edits(lower, strings.ToLower(c))
		if len(name) >= 5 && strings.HasPrefix(strings.ToLower(c), lower) { // the name is unfinished
			d = min(d, 2) - 1
		}
		// Of two equally near names, a left-out letter is likelier than an added or a wrong one.
		if d < least || d == least && best != "" && len(best) < len(name) && subsequence(c, name, sameLetter) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}
