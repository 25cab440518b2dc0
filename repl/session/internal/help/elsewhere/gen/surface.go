package main

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A surface has what stands here for a name, by folded name.
type surface struct {
	means, spelt map[string]string // from means.txt
	sections     map[string]string // the section of means.txt that has the name
	order        []string          // the sections, in the order of means.txt
	arrays       map[string]string // methods of tensors and functions of package tensor
}

func readSurface(means string) (*surface, error) {
	s := &surface{means: map[string]string{}, spelt: map[string]string{}, sections: map[string]string{}, arrays: map[string]string{}}
	section := ""
	for line := range strings.Lines(means) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
			s.order = append(s.order, title)
		}
		names, goText, ok := strings.Cut(line, "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			key := elsewhere.Fold(name)
			if _, twice := s.means[key]; twice {
				return nil, fmt.Errorf("means.txt: %s stands there twice", name)
			}
			s.means[key], s.spelt[key], s.sections[key] = goText, name, section
		}
	}
	pkg, err := stdlib.Importer(token.NewFileSet()).Import("github.com/mcs-notebook/mcs/engine/tensor")
	if err != nil {
		return nil, err
	}
	for _, name := range pkg.Scope().Names() {
		if f, ok := pkg.Scope().Lookup(name).(*types.Func); ok && f.Exported() {
			s.add("tensor.", f)
		}
	}
	for m := range types.NewMethodSet(pkg.Scope().Lookup("Tensor").Type()).Methods() {
		if m.Obj().Exported() {
			s.add("x.", m.Obj().(*types.Func)) // a method comes before a function: x.Sub(y)
		}
	}
	return s, nil
}

// add adds a function with arguments as examples, if it has only such that have one.
func (s *surface) add(before string, f *types.Func) {
	sig := f.Signature()
	var args []string
	for i := range sig.Params().Len() {
		v := sig.Params().At(i)
		if sig.Variadic() && i == sig.Params().Len()-1 {
			if v.Name() == "shape" || v.Name() == "dims" {
				args = append(args, "2, 3")
			} else if v.Name() == "counts" || f.Name() == "Permute" {
				args = append(args, "1, 0")
			}
			break
		}
		arg := example(v)
		if arg == "y" && before == "tensor." && i == 0 {
			arg = "x"
		}
		if arg == "" {
			return
		}
		args = append(args, arg)
	}
	s.arrays[elsewhere.Fold(f.Name())] = before + f.Name() + "(" + strings.Join(args, ", ") + ")"
}

// example returns an argument for a parameter, or "".
func example(v *types.Var) string {
	switch t := types.TypeString(v.Type(), (*types.Package).Name); t {
	case "tensor.Tensor":
		if slices.Contains([]string{"index", "weight", "bias", "mask"}, v.Name()) {
			return v.Name()
		}
		return "y"
	case "int":
		if v.Name() == "axis" {
			return "0"
		}
		return "1"
	default:
		return map[string]string{"tensor.Operand": "y", "any": "y", "[]tensor.Tensor": "[]tensor.Tensor{x, y}", "float64": "0.5",
			"bool": "false", "dtype.Type": "dtype.F32", "string": `"ij,jk->ik"`}[t]
	}
}

// arrayModules are the qualifiers of modules whose names may be those of arrays.
var arrayModules = []string{"", "numpy", "mlx", "random", "linalg", "fft", "nn"}

// find returns the key of a name in the table and its Go. The key is "" for a name without an equivalent.
func (s *surface) find(module, name string) (key, goText string) {
	key = elsewhere.Fold(name)
	if goText, ok := s.means[module+"."+key]; ok {
		if goText == "-" {
			return "", ""
		}
		return module + "." + key, goText
	}
	class := strings.ToLower(name[:1]) != name[:1]
	if !slices.Contains(arrayModules, module) || class && (module == "nn" || name != "T" && s.means[key] == "") {
		return "", ""
	}
	goText = s.means[key]
	if goText == "" {
		goText = s.arrays[key]
	}
	if base, ok := strings.CutSuffix(key, "_"); ok && goText == "" && module == "" { // add_ changes x
		if goText = s.means[base]; goText == "" {
			goText = s.arrays[base]
		}
		if !strings.HasPrefix(goText, "x.") {
			return "", ""
		}
		goText = "x = " + strings.ReplaceAll(goText, " | ", " | x = ")
	}
	if goText == "" || goText == "-" || goText == "x = x" || strings.HasPrefix(goText, "x = //") {
		return "", ""
	}
	return key, goText
}
