package msl

import (
	"fmt"
	"slices"
	"strings"
)

// Gather returns the text with kernel k as a function of that name that has one argument of its own, the
// address of a struct: its members are the buffers and the constants of k, in their order. Values has what
// stands for the parameters of a template. Other kernels of the text are left out. Whatever else is not the
// head of k keeps its line and its column.
func (s *Source) Gather(k *Kernel, function string, values map[string]string) (string, error) {
	if err := s.instantiated(); err != nil {
		return "", err
	}
	var members, heads, locals []string
	for _, a := range k.Arguments {
		t := s.bound(a.tokens, values)
		switch a.Kind {
		case Buffer:
			members = append(members, t+" "+a.Name+";")
			locals = append(locals, fmt.Sprintf("%s %s = %s->%[2]s;", t, a.Name, gathered))
		case Constant:
			place := func(i int) bool { return s.text(i) == "constant" || s.text(i) == "const" || s.text(i) == "&" }
			members = append(members, s.bound(slices.DeleteFunc(slices.Clone(a.tokens), place), values)+" "+a.Name+";")
			locals = append(locals, fmt.Sprintf("%s %s = %s->%[2]s;", t, a.Name, gathered))
		case Attribute:
			heads = append(heads, fmt.Sprintf("%s %s [[%s]]", t, a.Name, a.Attribute))
		case Threadgroup:
			return "", Problem{a.Pos, fmt.Sprintf("argument %s: declare threadgroup memory in the kernel: threadgroup float %[1]s[32];", a.Name)}
		}
	}
	for _, p := range k.Parameters {
		v, ok := values[p.Name]
		switch {
		case !ok:
			return "", Problem{k.Pos, fmt.Sprintf("parameter %s of the template has no value", p.Name)}
		case p.Typename():
			locals = append(locals, "typedef "+v+" "+p.Name+";")
		default:
			locals = append(locals, "constexpr "+p.Type+" "+p.Name+" = "+v+";")
		}
	}
	argument := fmt.Sprintf("constant %s* %s [[buffer(0)]]", function+Struct, gathered)
	f := k.function
	edits := s.headEdits(k, values)
	edits[s.code[f.at]] = function
	edits[s.code[f.open]] = "(" + strings.Join(slices.Insert(heads, 0, argument), ", ") + s.resume(f.open)
	edits[s.code[f.body]] = "{ " + strings.Join(locals, " ") + s.resume(f.body)
	var out strings.Builder
	fmt.Fprintf(&out, "#include <metal_stdlib>\nusing namespace metal;\nstruct %s { %s };\n#line 1 %q\n", function+Struct, strings.Join(members, " "), s.Name)
	s.write(&out, edits)
	return out.String() + "\n", nil
}

// instantiated refuses what says how a kernel is compiled: Gather does.
func (s *Source) instantiated() error {
	for _, c := range s.Constants {
		return Problem{c.Pos, fmt.Sprintf("got the function constant %s: write a parameter of a template, template <%s %[1]s>", c.Name, c.Type)}
	}
	for _, k := range s.Kernels {
		if len(k.Parameters) > 0 && len(k.Instances) > 0 {
			return Problem{k.Instances[0].Pos, fmt.Sprintf("got an instance of %s: leave it out, each call makes the one that it needs", k.Name)}
		}
	}
	return nil
}

// Struct is what the name of a kernel's struct of arguments has behind that of the kernel.
const Struct = "_args"

// gathered is the name of the argument that Gather adds.
const gathered = "mcs_args"

// bound writes tokens down, with what stands for a template's parameters in their places.
func (s *Source) bound(list []int, values map[string]string) string {
	var words []string
	for _, i := range list {
		t := s.text(i)
		if v, ok := values[t]; ok {
			t = v
		}
		words = append(words, t)
	}
	return strings.Join(words, " ")
}

// headEdits leaves out the template of a kernel and its arguments, and gives parameters their values in its
// attributes.
func (s *Source) headEdits(k *Kernel, values map[string]string) map[int]string {
	edits := map[int]string{}
	for _, other := range s.Kernels {
		for i := other.function.start; other != k && i <= other.function.end; i++ {
			edits[s.code[i]] = ""
		}
	}
	f := k.function
	from := f.start
	if len(k.Parameters) > 0 {
		end := s.angle(f.start + 1)
		for i := f.start; i <= end; i++ {
			edits[s.code[i]] = ""
		}
		from = end + 1
	}
	for i := from; i < f.at; i++ {
		if v, ok := values[s.text(i)]; ok {
			edits[s.code[i]] = v
		}
	}
	for i := f.open + 1; i < s.partner[f.open]; i++ {
		edits[s.code[i]] = ""
	}
	return edits
}

// resume goes on with what follows place i of the code, in the line and the column where the text has it.
func (s *Source) resume(i int) string {
	if s.code[i]+1 >= len(s.tokens) {
		return ""
	}
	p := s.tokens[s.code[i]+1].pos
	return fmt.Sprintf("\n#line %d %q\n%s", p.Line, p.File, strings.Repeat(" ", p.Col-1))
}
