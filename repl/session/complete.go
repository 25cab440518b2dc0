package session

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"

	"github.com/mcs-notebook/mcs/stdlib"
)

// Complete lists ways to go on at byte pos of a cell: members after a dot, names of the session, packages and keywords
// otherwise. They replace the bytes from…pos. Completing command lines is up to whoever has the commands.
func (s *Session) Complete(cell string, pos int) (from int, list []Completion) {
	pos = min(max(pos, 0), len(cell))
	operand := operandBefore(cell[:pos])
	dot := strings.LastIndexByte(operand, '.')
	if dot < 0 {
		return pos - len(operand), s.completeName(cell[:pos], operand)
	}
	prefix := operand[dot+1:]
	return pos - len(prefix), s.completeMember(cell[:pos-len(operand)], operand[:dot], prefix)
}

// operandBefore is the operand that a text ends with: names, selections, calls and indexes.
func operandBefore(src string) string {
	depth := 0
	for i := len(src); i > 0; i-- {
		c := src[i-1]
		switch {
		case c == ')' || c == ']':
			if depth == 0 && i < len(src) && src[i] != '.' && src[i] != '(' && src[i] != '[' {
				return src[i:]
			}
			depth++
		case c == '(' || c == '[':
			if depth == 0 {
				return src[i:]
			}
			depth--
		case depth > 0:
		case c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
		default:
			return src[i:]
		}
	}
	return src
}

// completeName completes a name without a dot. Names that the unfinished cell declares count, too.
func (s *Session) completeName(before, prefix string) (list []Completion) {
	seen := map[string]bool{}
	add := func(c Completion) {
		if strings.HasPrefix(c.Text, prefix) && !seen[c.Text] && !strings.HasPrefix(c.Text, "__") {
			seen[c.Text] = true
			list = append(list, c)
		}
	}
	for _, name := range declaredIn(before) {
		add(Completion{Text: name, Kind: "var"})
	}
	for name, e := range s.world.names {
		add(Completion{Text: name, Kind: e.kind.String(), Detail: detail(e.obj)})
	}
	for name, path := range s.world.imports {
		add(Completion{Text: name, Kind: "package", Detail: s.packageTitle(path), Doc: firstSentence(s.doc(path, ""))})
	}
	own := len(list)
	if prefix != "" {
		for _, path := range stdlib.Paths() {
			name, _ := stdlib.Name(path)
			if p, ok := stdlib.ImportFor(name); ok && p == path && strings.HasPrefix(name, prefix) {
				add(Completion{Text: name, Kind: "package", Detail: path, Doc: firstSentence(stdlib.Doc(path, ""))})
			}
		}
		for _, name := range types.Universe.Names() {
			add(Completion{Text: name, Kind: kindOfObject(types.Universe.Lookup(name)), Detail: detail(types.Universe.Lookup(name))})
		}
		for t := token.BREAK; t <= token.VAR; t++ {
			add(Completion{Text: t.String(), Kind: "keyword"})
		}
	}
	byText := func(l []Completion) { sort.Slice(l, func(i, j int) bool { return l[i].Text < l[j].Text }) }
	byText(list[:own])
	byText(list[own:])
	return list
}

// declaredIn are the names that a text declares with := or var, as far as that can be told from its tokens.
func declaredIn(src string) (names []string) {
	tokens, _ := lex(src)
	for i, t := range tokens {
		if t.tok == token.DEFINE {
			for j := i - 1; j >= 0 && (tokens[j].tok == token.IDENT || tokens[j].tok == token.COMMA); j-- {
				if tokens[j].tok == token.IDENT {
					names = append(names, tokens[j].lit)
				}
			}
		}
		if (t.tok == token.VAR || t.tok == token.FUNC || t.tok == token.TYPE || t.tok == token.CONST) && i+1 < len(tokens) && tokens[i+1].tok == token.IDENT {
			names = append(names, tokens[i+1].lit)
		}
	}
	return names
}

// completeMember completes what follows a dot.
func (s *Session) completeMember(before, operand, prefix string) (list []Completion) {
	st := s.world.stage()
	if st.lookup(operand) == nil {
		path := st.importPath(operand)
		if path == "" {
			path, _ = stdlib.ImportFor(operand)
		}
		if path != "" {
			return s.completePackage(path, prefix)
		}
	}
	t := s.operandType(st, before, operand)
	if t == nil {
		return nil
	}
	for _, o := range members(t) {
		if strings.HasPrefix(o.Name(), prefix) {
			list = append(list, Completion{Text: o.Name(), Kind: kindOfObject(o), Detail: detail(o), Doc: s.memberDoc(st, t, o)})
		}
	}
	return list
}

func (s *Session) completePackage(path, prefix string) (list []Completion) {
	pkg, err := s.importer.Import(path)
	if err != nil {
		return nil
	}
	for _, name := range pkg.Scope().Names() {
		if strings.HasPrefix(name, prefix) && token.IsExported(name) {
			o := pkg.Scope().Lookup(name)
			list = append(list, Completion{Text: name, Kind: kindOfObject(o), Detail: detail(o), Doc: firstSentence(s.doc(path, name))})
		}
	}
	return list
}

// operandType is the type of an operand at the end of an unfinished cell: what it declares before counts, if it checks.
func (s *Session) operandType(st *stage, before, operand string) types.Type {
	for _, prefix := range []string{completeStatements(before), ""} {
		file, err := s.parse(-1, 1, 1, "package "+pkgPath+";func cell(){", prefix+"\n_ = "+operand, "\n}")
		if err != nil {
			continue
		}
		c := s.check(st, []*ast.File{file})
		if f, ok := file.Decls[len(file.Decls)-1].(*ast.FuncDecl); ok && len(f.Body.List) > 0 {
			if a, ok := f.Body.List[len(f.Body.List)-1].(*ast.AssignStmt); ok {
				if t := c.info.Types[a.Rhs[0]].Type; t != nil && t != types.Typ[types.Invalid] {
					return t
				}
			}
		}
	}
	return nil
}

// completeStatements are the statements of a text that are complete: the last line is being typed.
func completeStatements(src string) string {
	var b strings.Builder
	for _, p := range split(src) {
		if p.kind == stmtPiece && p.end < len(src) && !incompleteGo(src[p.off:p.end]) {
			b.WriteString(src[p.off:p.end] + "\n")
		} else if p.kind == stmtPiece {
			if i := strings.LastIndexByte(src[p.off:p.end], '\n'); i >= 0 && !incompleteGo(src[p.off:p.off+i]) {
				b.WriteString(src[p.off:p.off+i] + "\n")
			}
		}
	}
	return b.String()
}

// members are the fields and methods that can follow a dot after a value of the type, sorted by name.
func members(t types.Type) (list []types.Object) {
	seen := map[string]bool{}
	add := func(o types.Object) {
		if !seen[o.Name()] && (o.Exported() || o.Pkg() != nil && o.Pkg().Path() == pkgPath) {
			seen[o.Name()] = true
			list = append(list, o)
		}
	}
	recv := t
	if _, ok := t.Underlying().(*types.Pointer); !ok && !types.IsInterface(t) {
		recv = types.NewPointer(t)
	}
	set := types.NewMethodSet(recv)
	for i := range set.Len() {
		add(set.At(i).Obj())
	}
	fields(t, 0, add)
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list
}

// fields calls f for the fields of a struct, and for those of what it embeds.
func fields(t types.Type, depth int, f func(types.Object)) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || depth > 4 {
		return
	}
	for i := range st.NumFields() {
		f(st.Field(i))
	}
	for i := range st.NumFields() {
		if st.Field(i).Embedded() {
			fields(st.Field(i).Type(), depth+1, f)
		}
	}
}

func kindOfObject(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		if o.Signature().Recv() != nil {
			return "method"
		}
		return "func"
	case *types.Builtin:
		return "func"
	case *types.Var:
		if o.IsField() {
			return "field"
		}
		return "var"
	case *types.TypeName:
		return "type"
	case *types.Const:
		return "const"
	case *types.PkgName:
		return "package"
	}
	return "var"
}

// detail is an object's signature or type.
func detail(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		return strings.TrimPrefix(types.TypeString(o.Type(), qualifier), "func")
	case *types.TypeName:
		if n, ok := o.Type().(*types.Named); ok {
			switch n.Underlying().(type) {
			case *types.Struct:
				return "struct"
			case *types.Interface:
				return "interface"
			}
		}
		return types.TypeString(o.Type().Underlying(), qualifier)
	case *types.Const:
		return typeString(o.Type()) + " = " + o.Val().String()
	case *types.Builtin, *types.Nil:
		return ""
	}
	return types.TypeString(o.Type(), qualifier)
}

// memberDoc is the first sentence about a method or field of a compiled type.
func (s *Session) memberDoc(st *stage, t types.Type, o types.Object) string {
	owner := ownerName(t, o)
	if o.Pkg() == nil || o.Pkg().Path() == pkgPath {
		if d := st.methodsOf(owner)[o.Name()]; d != nil {
			return sentence(s.comment(d))
		}
		return ""
	}
	if owner != "" {
		return firstSentence(s.doc(o.Pkg().Path(), owner+"."+o.Name()))
	}
	return ""
}

// ownerName is the name of the type that a member belongs to.
func ownerName(t types.Type, o types.Object) string {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		t = f.Signature().Recv().Type()
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// firstSentence is the start of a documentation text: what follows the declaration.
func firstSentence(doc string) string {
	if _, comment, ok := strings.Cut(doc, "\n\n"); ok {
		doc = comment
	}
	return sentence(doc)
}

// sentence is the first sentence of a text, on one line.
func sentence(doc string) string {
	doc, _, _ = strings.Cut(doc, "\n\n")
	doc = strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i+1]
	}
	return doc
}
