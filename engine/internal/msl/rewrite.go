package msl

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Check returns the text as C++ for the checking prelude (shaders/prelude/check.h): for each instance of a
// kernel it defines a variable msl_kernel_NAME, by which the runner finds and launches it. Texts of several
// sources may follow one another in a file.
func (s *Source) Check() string {
	edits := s.common()
	for i := range s.code {
		switch {
		case s.local(i):
			s.checkLocal(edits, i)
		case s.constructor(i):
			s.checkConstructor(edits, i)
		}
	}
	for _, c := range s.Constants {
		edits[c.token] = fmt.Sprintf("static const check::Constant<%s, %d> %s;", c.Type, c.Index, c.Name)
	}
	return s.print("check.h", edits, s.checkEntries)
}

// CUDA returns the text as CUDA for the prelude shaders/prelude/cuda.h: for each instance of a kernel an
// extern "C" __global__ function of its name. Its parameters are the buffers and constants in the order of
// the text, a constant T& by value and so the kernel's own [Struct], and behind them, for each threadgroup
// argument but the first, its offset in dynamic shared memory in bytes. A function constant of index n is the
// macro MSL_CONSTANT_n or, without it, the variable of its name in constant memory.
func (s *Source) CUDA() string {
	edits := s.common()
	for i := range s.code {
		switch t := s.text(i); {
		case s.local(i):
			edits[s.code[i]] = "__shared__"
		case t == "constant" && s.outside(i) && !s.leftOut(i):
			s.cudaTable(edits, i)
		case s.text(i-1) == "." && s.kind(i) == name && len(t) > 1 && swizzle(t) && s.text(i+1) != "(":
			edits[s.code[i]] = "template swizzle<" + elements(t) + ">()"
		}
	}
	for _, f := range s.functions {
		if f.kernel == nil {
			continue
		}
		edits[s.code[f.at]] = f.name + "_body"
		for i := f.at; i >= 0; i-- {
			if s.text(i) == "kernel" { // a body that is called has its positions in memory
				edits[s.code[i]] = "MSL_INLINE"
				break
			}
		}
	}
	for i, t := range s.tokens {
		if _, done := edits[i]; !done && t.kind == name {
			if word, ok := cudaSpaces[t.text]; ok {
				edits[i] = word
			}
		}
	}
	return s.print("cuda.h", edits, s.cudaEntries)
}

// cudaSpaces has what stands for the address spaces of Metal: CUDA's pointers are generic.
var cudaSpaces = map[string]string{"device": "", "threadgroup": "", "thread": "", "constant": "const"}

// common returns the edits of both dialects.
func (s *Source) common() map[int]string {
	edits := maps.Clone(s.edits)
	for i, t := range s.tokens {
		if t.kind == number && !strings.HasPrefix(strings.ToLower(t.text), "0x") {
			if digits, ok := strings.CutSuffix(t.text, "bf"); ok {
				edits[i] = "bfloat(" + digits + "f)"
			} else if digits, ok := strings.CutSuffix(t.text, "h"); ok {
				edits[i] = "half(" + digits + "f)"
			}
		}
	}
	return edits
}

// print writes the text with its edits, in a namespace of its own, and what entries adds.
func (s *Source) print(prelude string, edits map[int]string, entries func(*strings.Builder)) string {
	var out strings.Builder
	fmt.Fprintf(&out, "#include %q\n", prelude)
	if prelude == "cuda.h" {
		for _, c := range s.Constants {
			fmt.Fprintf(&out, "#ifdef MSL_CONSTANT_%d\nstatic constexpr %s %s = MSL_CONSTANT_%[1]d;\n#else\nextern \"C\" { __constant__ %[2]s %[3]s; }\n#endif\n", c.Index, c.Type, c.Name)
		}
		out.WriteString("MSL_BEGIN\n")
	}
	fmt.Fprintf(&out, "namespace %s {\n", s.namespace())
	if prelude == "cuda.h" {
		out.WriteString("MSL_OURS\n")
	}
	fmt.Fprintf(&out, "#line 1 %q\n", s.Name)
	s.write(&out, edits)
	fmt.Fprintf(&out, "\n#line 1 \"kernels of %s\"\n", s.Name)
	if prelude == "cuda.h" {
		entries(&out)
		out.WriteString("}\nMSL_END\n")
	} else {
		out.WriteString("}\n")
		entries(&out)
	}
	for _, m := range s.defined {
		fmt.Fprintf(&out, "#undef %s\n", m)
	}
	return out.String()
}

// write writes the tokens, or what stands in their places.
func (s *Source) write(out *strings.Builder, edits map[int]string) {
	for i, t := range s.tokens {
		if text, ok := edits[i]; ok {
			out.WriteString(text)
		} else {
			out.WriteString(t.text)
		}
	}
}

// namespace is where the text's names live, apart from those of other texts.
func (s *Source) namespace() string {
	h := fnv.New64a()
	h.Write([]byte(s.Text))
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (letter(byte(r)) || digit(byte(r))) {
			return r
		}
		return '_'
	}, s.Name)
	return fmt.Sprintf("msl_%s_%016x", clean, h.Sum64())
}

// leftOut says whether the token at place i is dropped in both dialects.
func (s *Source) leftOut(i int) bool {
	_, out := s.edits[s.code[i]]
	return out
}

// inside returns the function in whose body place i of the code stands, or nil.
func (s *Source) inside(i int) *function {
	for _, f := range s.functions {
		if i > f.body && i < f.end {
			return f
		}
	}
	return nil
}

// outside says whether place i of the code is no part of a function.
func (s *Source) outside(i int) bool {
	return !slices.ContainsFunc(s.functions, func(f *function) bool { return i > f.open && i < f.end })
}

// local says whether a declaration of threadgroup memory begins at place i: in a function, "threadgroup", a
// type that is no pointer, a name.
func (s *Source) local(i int) bool {
	if s.text(i) != "threadgroup" || s.inside(i) == nil {
		return false
	}
	if before := s.text(i - 1); before != ";" && before != "{" && before != "}" {
		return false
	}
	_, ok := s.localName(i)
	return ok
}

// localName returns the place of the name in a declaration of threadgroup memory at i.
func (s *Source) localName(i int) (int, bool) {
	for j := i + 1; j < len(s.code); j++ {
		switch s.text(j) {
		case "<":
			if j = s.angle(j); j < 0 {
				return 0, false
			}
		case ";", "[", "=", ",":
			return j - 1, s.kind(j-1) == name && j-1 > i+1
		case "*", "&", "(", "{":
			return 0, false
		}
	}
	return 0, false
}

// checkLocal makes threadgroup T x[n]; a reference to memory of the group.
func (s *Source) checkLocal(edits map[int]string, i int) {
	at, _ := s.localName(i)
	edits[s.code[i]] = fmt.Sprintf("auto& %s = check::local<", s.text(at))
	edits[s.code[at]] = ""
	if end := s.find(at, ";"); end >= 0 {
		edits[s.code[end]] = fmt.Sprintf(", %d>();", i)
	}
}

// constructor says whether place i begins the construction of a vector, or of a type that may be one.
func (s *Source) constructor(i int) bool {
	if s.kind(i) != name || s.text(i-1) == "." || s.text(i-1) == "->" {
		return false
	}
	t := s.text(i)
	if t == "vec" && s.text(i+1) == "<" {
		end := s.angle(i + 1)
		return end >= 0 && s.text(end+1) == "("
	}
	if next := s.text(i + 2); s.text(i+1) != "(" || next == "&" || next == "*" { // a reference to an array: T (&x)[4]
		return false
	}
	return vectorName(t) || s.typeParameter(i)
}

// vectorName says whether t is the name of a vector type: float4.
func vectorName(t string) bool {
	last := t[len(t)-1]
	if last < '2' || last > '4' || strings.HasPrefix(t, "packed_") {
		return false
	}
	n := sizes[t[:len(t)-1]]
	return n > 0 && !strings.HasSuffix(t, "_t") && !strings.HasPrefix(t, "atomic")
}

// typeParameter says whether place i of the code names a type that a template takes.
func (s *Source) typeParameter(i int) bool {
	f := s.inside(i)
	return f != nil && slices.ContainsFunc(f.template, func(p Parameter) bool { return p.Name == s.text(i) && p.Typename() })
}

func (s *Source) checkConstructor(edits map[int]string, i int) {
	if s.text(i) == "vec" {
		edits[s.code[i]] = "metal::make<vec"
		edits[s.code[s.angle(i+1)]] = ">>"
		return
	}
	edits[s.code[i]] = "metal::make<" + s.text(i) + ">"
}

// swizzle says whether t names elements of a vector. Names by colour are left alone: a member may be called
// bar.
func swizzle(t string) bool { return len(t) <= 4 && strings.Trim(t, "xyzw") == "" }

// elements are the numbers of a swizzle's elements: of yx 1, 0.
func elements(t string) string {
	var list []string
	for i := range len(t) {
		list = append(list, strconv.Itoa(strings.IndexByte("xyzw", t[i])))
	}
	return strings.Join(list, ", ")
}

// cudaTable makes a constant of the text a constant of CUDA: a table lies in constant memory, so that an
// index into it may vary.
func (s *Source) cudaTable(edits map[int]string, i int) {
	words := "static constexpr "
	for j := i; j < len(s.code) && s.text(j) != "=" && s.text(j) != ";"; j++ {
		switch s.text(j) {
		case "[":
			words = "static __constant__ const "
		case "constexpr", "static", "const":
			edits[s.code[j]] = ""
		}
	}
	for j := i - 1; s.text(j) == "static" || s.text(j) == "constexpr"; j-- {
		edits[s.code[j]] = ""
	}
	edits[s.code[i]] = strings.TrimSpace(words)
}

// checkEntries defines the variable of each instance, which leads the runner to it.
func (s *Source) checkEntries(out *strings.Builder) {
	for _, k := range s.Kernels {
		fmt.Fprintf(out, "static constexpr check::Argument %s_%s_arguments[] = {", s.namespace(), k.Name)
		for _, a := range k.Arguments {
			what := fmt.Sprint(a.Index)
			if a.Kind == Attribute {
				what = "check::" + a.Attribute
			}
			fmt.Fprintf(out, "{check::is_%s, %s, %q}, ", a.Kind, what, a.Name)
		}
		out.WriteString("{}};\n")
		for _, in := range k.Instances {
			fmt.Fprintf(out, "extern \"C\" { extern const check::Entry msl_kernel_%s; const check::Entry msl_kernel_%[1]s = check::entry<&%[2]s::%[3]s%[4]s, %[2]s_%[3]s_arguments>(%[1]q, %[5]d); }\n",
				in.Name, s.namespace(), k.Name, brackets(in.Args), k.MaxThreads)
		}
	}
}

// brackets writes a list of template arguments.
func brackets(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return "<" + strings.Join(args, ", ") + ">"
}

// cudaEntries writes the functions that a host launches.
func (s *Source) cudaEntries(out *strings.Builder) {
	for _, k := range s.Kernels {
		bounds := ""
		if k.MaxThreads > 0 {
			bounds = fmt.Sprintf(" __launch_bounds__(%d)", k.MaxThreads)
		}
		for _, in := range k.Instances {
			parameters, before, call := s.cudaArguments(k, in)
			before = s.begins(k) + before
			fmt.Fprintf(out, "extern \"C\" __global__ void%s %s(%s) { %s%s_body%s(%s); }\n",
				bounds, in.Name, strings.Join(parameters, ", "), before, k.Name, brackets(in.Args), strings.Join(call, ", "))
		}
	}
}

// begins is what a kernel does first, which may begin while the one before ends: it waits, unless the text
// does.
func (s *Source) begins(k *Kernel) string {
	text := "metal::let_next_begin(); "
	for i := range s.code {
		if s.text(i) == "wait_for_previous" && s.text(i+3) == ";" {
			return text
		}
	}
	return text + "metal::wait_for_previous(); "
}

// cudaArguments returns the parameters of an instance, what stands before the call of its body, and the
// call's arguments.
func (s *Source) cudaArguments(k *Kernel, in Instance) (parameters []string, before string, call []string) {
	first := true
	var offsets []string
	for _, a := range k.Arguments {
		t := s.cudaType(k, in, a)
		switch a.Kind {
		case Buffer:
			if a.Type == "constant "+k.Name+Struct+"*" {
				parameters = append(parameters, "const MSL_GRID_CONSTANT "+k.Name+Struct+" "+a.Name)
				call = append(call, "&"+a.Name)
				continue
			}
			if strings.HasSuffix(t, "&") {
				parameters = append(parameters, strings.TrimSuffix(t, "&")+"* "+a.Name)
				call = append(call, "*"+a.Name)
				continue
			}
			if a.tokens != nil && s.text(a.tokens[0]) == "constant" { // no store changes it
				t += " __restrict__"
			}
			parameters = append(parameters, t+" "+a.Name)
			call = append(call, a.Name)
		case Constant:
			parameters = append(parameters, strings.TrimSuffix(t, "&")+" "+a.Name)
			call = append(call, a.Name)
		case Threadgroup:
			offset := "0"
			if !first {
				offset = a.Name + "_offset"
				offsets = append(offsets, "unsigned "+offset)
			}
			first = false
			before += fmt.Sprintf("%s %s = (%s)(msl::shared + %s); ", t, a.Name, t, offset)
			call = append(call, a.Name)
		case Attribute:
			call = append(call, fmt.Sprintf("msl::attribute<%s>(msl::%s())", t, a.Attribute))
		}
	}
	return append(parameters, offsets...), before, call
}

// cudaType is the type of an argument in an instance, in CUDA's words.
func (s *Source) cudaType(k *Kernel, in Instance, a Argument) string {
	var words []string
	for _, i := range a.tokens {
		t := s.text(i)
		if word, ok := cudaSpaces[t]; ok {
			t = word
		}
		for n, p := range k.Parameters {
			if p.Name == t && n < len(in.Args) {
				t = in.Args[n]
			}
		}
		if t != "" && (t != "const" || len(words) == 0 || words[len(words)-1] != "const") {
			words = append(words, t)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(words, " "), " &", "&"), " *", "*")
}
