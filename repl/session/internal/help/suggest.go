package help

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/internal/lazy"
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

// A rule matches a form of the checker's messages and gives advice. It may change the message.
type rule struct {
	message func() *regexp.Regexp
	advise  func(a *advisor, msg string, m []string) (newMsg, hint string)
}

// advice makes a rule's function that leaves the message as it is; $1 … are the message's groups.
func advice(text string) func(*advisor, string, []string) (string, string) {
	return func(_ *advisor, msg string, m []string) (string, string) {
		text := text
		for i := range m {
			text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i), m[i])
		}
		return msg, text
	}
}

// goOr makes a rule's function that advises the line as Go if it reads as Python, and otherwise the text.
func goOr(text string) func(*advisor, string, []string) (string, string) {
	otherwise := advice(text)
	return func(a *advisor, msg string, m []string) (string, string) {
		if goLine := a.inGo(); goLine != "" {
			return msg, goLine
		}
		return otherwise(a, msg, m)
	}
}

// numeric matches a type whose name alone converts a value.
const numeric = `((?:u?int(?:8|16|32|64)?)|float(?:32|64))`

var rules = []rule{
	{lazy.Regexp(`^could not import (\S+) \(import "[^"]*": (.*)\)$`), func(_ *advisor, _ string, m []string) (string, string) {
		return fmt.Sprintf("package %s: %s", m[1], m[2]), ""
	}},
	{lazy.Regexp(`\((?:variable|value) of (?:\w+ )?type ([^)]+)\) as (\S+) value`), (*advisor).earlierType},
	{lazy.Regexp(`, but does have (field |method )?(\w+)\)`), func(a *advisor, msg string, m []string) (string, string) {
		name := m[2]
		if sel, _ := a.selector(); sel != nil {
			fixed := strings.Replace(a.line(), "."+sel.Sel.Name, "."+name, 1)
			goLine := a.inGo()
			if goLine != "" && unblanked(strings.ReplaceAll(goLine, "()", "")) != unblanked("write"+strings.ReplaceAll(fixed, "()", "")) {
				return msg, goLine // more than the case of this name is wrong
			}
		}
		if _, called := a.selector(); m[1] == "method " && !called {
			name += "()"
		}
		return strings.Replace(msg, m[0], ")", 1), "did you mean " + name + "?"
	}},
	{lazy.Regexp(`^undefined: (\w+)\.(\w+) \(but have (\w+)\)$`), func(a *advisor, _ string, m []string) (string, string) {
		if goLine := a.inGo(); goLine != "" && !sameCode(goLine, "write "+a.line()) {
			return "undefined: " + m[1] + "." + m[2], goLine
		}
		return "undefined: " + m[1] + "." + m[2], "did you mean " + m[3] + "?"
	}},
	{lazy.Regexp(`^undefined: (\w+)\.(\w+)$`), (*advisor).undefinedMember},
	{lazy.Regexp(`^undefined: (\w+)$`), (*advisor).undefinedName},
	{lazy.Regexp(`^(.*)\.(\w+) undefined \(type (.*) has no field or method (\w+)\)$`), (*advisor).noMember},
	{lazy.Regexp(`^invalid operation: cannot call (\w+) \(variable of type \*kernel\.Kernel\)`), advice("write $1.Call(…)")},
	{lazy.Regexp(`^invalid operation: cannot call (\S+)\.(\w+) \(variable of type `), advice("$2 is a field: write $1.$2")},
	{lazy.Regexp(`^invalid operation: (\S+) [-+*/%&|^<>=!]+ (\S+) \(mismatched types ` + numeric + ` and ` + numeric + `\)$`), advice("convert one of them: $4($1) or $3($2)")},
	{lazy.Regexp(`^invalid operation: (.+) \+ (.+) \(mismatched types (?:untyped )?string and `), goOr("a string is made with fmt.Sprint(…) or fmt.Sprintf")},
	{lazy.Regexp(`^invalid operation: (.+) \+ (.+) \(mismatched types .* and (?:untyped )?string\)`), goOr("a string is made with fmt.Sprint(…) or fmt.Sprintf")},
	{lazy.Regexp(`^invalid operation: (.+) \* (.+) \(mismatched types untyped string and untyped int\)`), advice("write strings.Repeat($1, $2)")},
	{lazy.Regexp(`^invalid operation: (\S+) == nil \(mismatched types`), advice("only pointers, slices, maps, channels, functions and interfaces can be nil")},
	{lazy.Regexp(`^invalid operation: (\S+) == (\S+) \(slice can only`), advice("write slices.Equal($1, $2)")},
	{lazy.Regexp(`^invalid operation: (\S+) == (\S+) \(map can only`), advice("write maps.Equal($1, $2)")},
	{lazy.Regexp(`^invalid operation: operator \+ not defined on (\S+) \(variable of type \[\]`), goOr("slices are joined with append($1, ys...) or slices.Concat")},
	{lazy.Regexp(`^invalid operation: operator ! not defined on (\S+) \(variable of type (?:u?int|float)`), advice("write $1 == 0")},
	{lazy.Regexp(`^invalid operation: operator .* not defined on (\S+) \(variable of (?:struct )?type tensor\.Tensor`), goOr("tensors have methods: Add, Sub, Mul, Div, MatMul")},
	{lazy.Regexp(`^non-boolean condition in `), (*advisor).condition},
	{lazy.Regexp(`^cannot use (\S+) \((?:variable|value) of (?:int|integer|float|)(?: ?type )` + numeric + `\) as ` + numeric + ` value`), advice("convert it: $3($1)")},
	{lazy.Regexp(`^cannot use (\S+) \((?:variable|value) of (?:\w+ )?type (\S+)\) as .*\(method (\w+) has pointer receiver\)`), advice("pass its address: &$1")},
	{lazy.Regexp(`^cannot use (\S+) \((?:untyped|(?:variable|value|constant) [^)]*of type (?:float64|float32|int)\b).*\) as optim\.Schedule value in `), advice("a rate that stays is optim.Constant($1)")},
	{lazy.Regexp(`^cannot use (\S+) \((?:variable|value) of type string\) as data\.Source value in `), advice("batches of windows of it are data.Windows($1, 64, 16)")},
	{lazy.Regexp(`^cannot use (\S+) \((?:variable|value) of (?:struct )?type tensor\.Tensor\) as data\.Source value in `), advice("batches of it and targets are data.Pairs($1, targets, 16)")},
	{lazy.Regexp(`^cannot use (\S+) \(.*\) as train\.Model value in .*missing method Loss`), advice("with a loss it is one: train.WithLoss($1, nn.CrossEntropyLoss)")},
	{lazy.Regexp(`^cannot use (\S+) \((?:variable|value) of (?:struct )?type (\S+)\) as \[\](\S+) value in argument`), (*advisor).listOf},
	{lazy.Regexp(`^too many arguments in call to (\S+): have \(.*, (\S+)\), want \(.*\[\](\S+)\)$`), (*advisor).listOf},
	{lazy.Regexp(`^cannot use .* as .* value in assignment`), (*advisor).anew},
	{lazy.Regexp(`^cannot convert (\w+|"[-0-9]+") \((?:untyped string constant|(?:variable|value) of type string)\) to type u?int\d*$`), advice("write strconv.Atoi($1)")},
	{lazy.Regexp(`^cannot convert (\w+|"[-0-9.]+") \((?:untyped string constant|(?:variable|value) of type string)\) to type float\d*$`), advice("write strconv.ParseFloat($1, 64)")},
	{lazy.Regexp(`^cannot convert (.+) \(.*\) to type string$`), advice("write fmt.Sprint($1)")},
	{lazy.Regexp(`^use of untyped nil in `), advice("nil alone has no type: write var x []int, var err error, …")},
	{lazy.Regexp(`^multiple-value (.+) \(value of type \((.*), error\)\) in single-value context`), advice("it returns an error, too: assign it first, v := $1")},
	{lazy.Regexp(`^append\((\w+), .* is not used$`), (*advisor).appendUnused},
	{lazy.Regexp(`^(?:too many|not enough) arguments in (?:conversion to|call to) (\w+)\.(\w+)`), (*advisor).constructor},
	{lazy.Regexp(`^(?:too many|not enough) arguments in call to .*, want (\(.*\))$`), (*advisor).parameters},
	{lazy.Regexp(`^(?:method )?(\w+)[·.](\w+) (?:redeclared in this block|already declared at )`), (*advisor).methodAgain},
	{lazy.Regexp(`^missing function body$`), advice("the opening brace stands on the line of func")},
	{lazy.Regexp(`^cannot assign to (\w+) \(neither addressable`), advice("$1 is a constant")},
	{lazy.Regexp(`^cannot assign to (\w+)\[(.+)\] \(neither addressable nor a map index`), (*advisor).element},
	{lazy.Regexp(`^too many return values`), (*advisor).topReturn},
	{lazy.Regexp(`^invalid argument: index -\d+ \(constant of type int\) must not be negative`), goOr("Go counts from the front only: the last one is xs[len(xs)-1]")},
}

// Suggest words a message and finds a suggestion for it.
func (h *Helper) Suggest(st *world.Stage, c *Facts, pos token.Pos, msg string) (newMsg, hint string) {
	a := &advisor{h, st, c, pos}
	for _, list := range [][]rule{tensorRules, rules} {
		for _, r := range list {
			if m := r.message().FindStringSubmatch(msg); m != nil {
				if said, hint := r.advise(a, msg, m); hint != "" || said != msg {
					return said, hint
				}
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

// earlierType explains a value of a type that was declared again since.
func (a *advisor) earlierType(msg string, m []string) (string, string) {
	if m[1] != m[2] {
		return msg, ""
	}
	return msg, "the value has an earlier declaration of the type: make it again"
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
	var candidates []string
	for _, n := range o.Imported().Scope().Names() {
		if token.IsExported(n) {
			candidates = append(candidates, n)
		}
	}
	near := DidYouMean(name, candidates)
	if !slices.Contains(stdlib.Engine(), o.Imported().Path()) { // time.time()
		if goLine := a.inGo(); goLine != "" && !sameCode(goLine, "write "+a.line()) {
			return msg, goLine
		}
	}
	if !strings.EqualFold(near, "did you mean "+name+"?") && slices.Contains(stdlib.Engine(), o.Imported().Path()) {
		if say := a.foreignModule(); say != "" {
			return msg, say
		}
	}
	if near == "" {
		near = a.methodOf(o.Imported(), name)
	}
	return msg, near
}

// listOf advises a list where single values of its type stand.
func (a *advisor) listOf(msg string, m []string) (string, string) {
	if m[2] != m[3] {
		return msg, ""
	}
	return msg, "a list of them is []" + m[2] + "{…}"
}

func (a *advisor) undefinedName(msg string, m []string) (string, string) {
	name := m[1]
	if name == "Out" {
		return msg, "no such result was kept"
	}
	near := DidYouMean(name, a.names())
	if assigned(a.c.Files, a.pos) {
		if goLine := a.inGo(); goLine != "" && unblanked(goLine) != unblanked("write "+strings.Replace(a.line(), "=", ":=", 1)) {
			return msg, goLine // more than := is missing
		}
		if near != "" {
			return msg, "declare it with :=, or " + near
		}
		return msg, "declare it with :="
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
	if say, ok := ForeignNames[name]; ok {
		return msg, a.h.pasteable(say, a.line())
	}
	if qualifies {
		return msg, DidYouMean(name, append(a.names(), packageNames()...))
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

// assigned says whether the identifier at pos stands on the left of a plain assignment.
func assigned(files []*ast.File, pos token.Pos) (found bool) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, e := range a.Lhs {
					found = found || e.Pos() == pos
				}
			}
			return !found
		})
	}
	return found
}

// selector returns the selection whose name the complaint is about, and whether it is called.
func (a *advisor) selector() (sel *ast.SelectorExpr, called bool) {
	path := a.path()
	for i, n := range path {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Pos() == a.pos {
			if i+1 < len(path) {
				call, ok := path[i+1].(*ast.CallExpr)
				called = ok && call.Fun == sel
			}
			return sel, called
		}
	}
	return nil, false
}

func (a *advisor) noMember(msg string, m []string) (string, string) {
	operand, name := m[1], m[4]
	sel, called := a.selector()
	if sel == nil || a.c.Info.Types[sel.X].Type == nil {
		return msg, ""
	}
	t := a.c.Info.Types[sel.X].Type
	if path, ok := stdlib.ImportFor(operand); ok && a.h.exports(path, name) {
		return msg, fmt.Sprintf("%s is a variable of yours that hides the package %s", operand, path)
	}
	var candidates []string
	for _, o := range members(t) {
		candidates = append(candidates, o.Name())
	}
	same := slices.ContainsFunc(candidates, func(c string) bool { return strings.EqualFold(c, name) })
	if goLine := a.inGo(); goLine != "" && !sameCode(strings.ReplaceAll(goLine, "()", ""), "write "+strings.ReplaceAll(a.line(), "()", "")) {
		return msg, goLine
	}
	if !same {
		if say := python.Member(t, operand, name); say != "" {
			return msg, "write " + say
		}
		if say := a.elsewhere(python.Kind(t), name, operand); say != "" {
			return msg, say
		}
	}
	near := DidYouMean(name, candidates)
	if near != "" {
		meant := strings.TrimSuffix(strings.TrimPrefix(near, "did you mean "), "?")
		if o, _, _ := types.LookupFieldOrMethod(t, true, a.c.Pkg, meant); o != nil && !called {
			if f, ok := o.(*types.Func); ok && f.Signature().Params().Len() == 0 {
				return msg, "did you mean " + meant + "()?"
			}
		}
		return msg, near
	}
	return msg, ""
}

// exports says whether a package has an exported name.
func (h *Helper) exports(path, name string) bool {
	p, err := h.Package(path)
	return err == nil && token.IsExported(name) && p.Scope().Lookup(name) != nil
}

// family returns the key of a type's values in foreignMembers.
func family(t types.Type) string {
	if python.IsTensor(t) {
		return "tensor"
	}
	if world.IsError(t) {
		return "error"
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array:
		return "slice"
	case *types.Map:
		return "map"
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return "string"
		case u.Info()&types.IsNumeric != 0:
			return "number"
		}
	}
	return ""
}

// topReturn explains a return at the top of a cell.
func (a *advisor) topReturn(msg string, _ []string) (string, string) {
	for _, n := range a.path() {
		switch n := n.(type) {
		case *ast.FuncLit:
			return msg, ""
		case *ast.FuncDecl:
			if n.Name.Name == "cell" {
				return msg, "a cell returns nothing: its last expression is shown"
			}
			return msg, ""
		}
	}
	return msg, ""
}

// condition explains `if n`.
func (a *advisor) condition(msg string, _ []string) (string, string) {
	for _, n := range a.path() {
		e, ok := n.(ast.Expr)
		if !ok {
			break
		}
		if t := a.c.Info.Types[e].Type; t != nil {
			zero := map[string]string{"number": "!= 0", "string": `!= ""`, "error": "!= nil"}[family(t)]
			if f := family(t); f == "slice" || f == "map" {
				return msg, fmt.Sprintf("write len(%s) > 0", types.ExprString(e))
			}
			if zero == "" && world.IsPointer(t) {
				zero = "!= nil"
			}
			if zero != "" {
				return msg, fmt.Sprintf("write %s %s", types.ExprString(e), zero)
			}
		}
	}
	return msg, ""
}

// anew explains the assignment of another type to a variable of the session, which := allows.
func (a *advisor) anew(msg string, _ []string) (string, string) {
	for _, n := range a.path() {
		as, ok := n.(*ast.AssignStmt)
		if !ok || len(as.Lhs) != 1 || as.Tok != token.ASSIGN {
			continue
		}
		if id, ok := as.Lhs[0].(*ast.Ident); ok {
			if e := a.st.Lookup(id.Name); e != nil && e.Kind == world.Var {
				return msg, fmt.Sprintf("%s is %s; %s := … declares it anew", id.Name, Article(world.TypeString(e.Obj.Type())), id.Name)
			}
		}
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

// constructor explains nn.Linear(3, 4), where Linear is a type and NewLinear makes one, and nn.ReLU(x), which
// makes a layer.
func (a *advisor) constructor(msg string, m []string) (string, string) {
	if goLine := a.inGo(); goLine != "" {
		return msg, goLine
	}
	o, _ := a.c.Pkg.Scope().Lookup(m[1]).(*types.PkgName)
	if o == nil || o.Imported().Scope().Lookup("New"+m[2]) == nil {
		return msg, ""
	}
	return msg, fmt.Sprintf("did you mean %s.New%s?", m[1], m[2])
}

// parameters names the parameters of what is called with too few or too many arguments.
func (a *advisor) parameters(msg string, m []string) (string, string) {
	call := a.callAround()
	if goLine := a.inGo(); goLine != "" || call == nil {
		return msg, goLine
	}
	sig, _ := a.c.Info.TypeOf(call.Fun).(*types.Signature)
	if sig == nil || sig.TypeParams() != nil || sig.Params().Len() == 0 || sig.Params().At(0).Name() == "" {
		return msg, ""
	}
	alone := types.NewSignatureType(nil, nil, nil, sig.Params(), nil, sig.Variadic())
	return strings.TrimSuffix(msg, m[1]) + strings.TrimPrefix(types.TypeString(alone, world.Qualifier), "func"), ""
}

// element explains an element that cannot be assigned to.
func (a *advisor) element(msg string, m []string) (string, string) {
	for _, n := range a.path() {
		if call, ok := n.(*ast.CallExpr); ok && family(a.c.Info.Types[call].Type) == "tensor" {
			if goLine := a.inGo(); goLine != "" {
				return msg, goLine
			}
			return msg, "a statement writes one part of a tensor: x[0] = …"
		}
	}
	return msg, fmt.Sprintf("strings do not change: write b := []byte(%s); b[%s] = '…'; %[1]s = string(b)", m[1], m[2])
}

// methodAgain writes a method that is declared twice as a person knows it.
func (a *advisor) methodAgain(_ string, m []string) (string, string) {
	return fmt.Sprintf("method %s.%s already declared", m[1], m[2]), ""
}

// appendUnused is about append(xs, x) as a statement, whose result is lost.
func (a *advisor) appendUnused(msg string, m []string) (string, string) {
	return msg, fmt.Sprintf("write %s = append(%s, …)", m[1], m[1])
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
		d := 2 * distance(lower, strings.ToLower(c))
		if len(name) >= 5 && strings.HasPrefix(strings.ToLower(c), lower) { // the name is unfinished
			d = min(d, 2) - 1
		}
		// Of two equally near names, a left-out letter is likelier than an added or a wrong one.
		_, leftOut := subsequence(c, name)
		if d < least || d == least && best != "" && len(best) < len(name) && leftOut {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 3 || d < -3 {
		return 4
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
