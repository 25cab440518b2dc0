// Command gen joins the public names of PyTorch, NumPy and MLX with the engine's surface. It writes
// table.txt of package elsewhere, and docs/from-pytorch.md.
package main

import (
	"fmt"
	"go/token"
	"go/types"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/stdlib"
)

// The files, seen from the folder of package elsewhere, in which go generate runs.
const (
	tableFile = "table.txt"
	pageFile  = "../../../../../docs/from-pytorch.md"
)

func main() {
	table, page, err := build(".")
	if err == nil {
		err = os.WriteFile(tableFile, []byte(table), 0o644)
	}
	if err == nil {
		err = os.WriteFile(pageFile, []byte(page), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A row is a name of another library and the Go for it.
type row struct{ name, goText string }

// build returns the two files, made of names.txt and means.txt in a folder.
func build(dir string) (table, page string, err error) {
	names, err := os.ReadFile(dir + "/names.txt")
	if err != nil {
		return "", "", err
	}
	means, err := os.ReadFile(dir + "/means.txt")
	if err != nil {
		return "", "", err
	}
	s, err := readSurface(string(means))
	if err != nil {
		return "", "", err
	}
	rows := map[string]row{}
	for line := range strings.Lines(string(names)) {
		module, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, name := range strings.Fields(list) {
			key, goText := s.find(qualifier(module), name)
			if key != "" {
				rows[key] = row{strings.TrimPrefix(key[:len(key)-len(elsewhere.Fold(name))]+name, "."), goText}
			}
		}
	}
	for key, goText := range s.means { // the methods of models and optimizers
		if strings.HasPrefix(key, "module.") || strings.HasPrefix(key, "optimizer.") {
			rows[key] = row{s.spelt[key], goText}
		}
	}
	keys := make([]string, 0, len(rows))
	for key := range rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var t, p strings.Builder
	p.WriteString(pageHead)
	for _, key := range keys {
		fmt.Fprintf(&t, "%s\t%s\n", key, rows[key].goText)
		fmt.Fprintf(&p, "| `%s` | `%s` |\n", rows[key].name, rows[key].goText)
	}
	return t.String(), p.String(), nil
}

const pageHead = `# From PyTorch

What stands here for the names of PyTorch, NumPy and MLX. Typed by habit in a cell, such a name is answered with its
Go. Names without a module are functions and methods of arrays. In the Go, x, y, weight, bias and loss are tensors, index
is one of integers, mask one of bools, m is a model and opt an optimizer. Names that are not here have no equivalent.

Gradients are made where tensor.Grad asks for them, so nothing is switched off for an evaluation: there is no no_grad.

Made by ` + "`go generate ./repl/session/internal/help/elsewhere`" + `; do not edit.

| there | here |
|---|---|
`

// qualifier returns what stands before the names of a module in means.txt.
func qualifier(module string) string {
	switch module {
	case "torch.nn", "torch.optim":
		return strings.TrimPrefix(module, "torch.")
	case "numpy.random":
		return "random"
	case "numpy", "numpy.ndarray":
		return "numpy"
	case "mlx.core":
		return "mlx"
	}
	return ""
}

// A surface has what the engine exports, by folded name.
type surface struct {
	means, spelt map[string]string // from means.txt
	arrays       map[string]string // methods of tensors and functions of package tensor
}

func readSurface(means string) (*surface, error) {
	s := &surface{means: map[string]string{}, spelt: map[string]string{}, arrays: map[string]string{}}
	for line := range strings.Lines(means) {
		names, goText, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(names) {
			key := elsewhere.Fold(name)
			if old, twice := s.means[key]; twice && old != goText {
				return nil, fmt.Errorf("means.txt: %s stands for %s and for %s", name, old, goText)
			}
			s.means[key], s.spelt[key] = goText, name
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
	case "tensor.Operand", "any":
		return "y"
	case "[]tensor.Tensor":
		return "[]tensor.Tensor{x, y}"
	case "int":
		if v.Name() == "axis" {
			return "0"
		}
		return "1"
	case "float64":
		return "0.5"
	case "bool":
		return "false"
	case "dtype.Type":
		return "dtype.F32"
	case "string":
		return `"ij,jk->ik"`
	}
	return ""
}

// find returns the key of a name in the table and its Go. The key is "" for a name without an equivalent.
func (s *surface) find(module, name string) (key, goText string) {
	key = elsewhere.Fold(name)
	if goText, ok := s.means[module+"."+key]; ok {
		return module + "." + key, goText
	}
	if module == "optim" || strings.ToLower(name[:1]) != name[:1] && module != "nn" && name != "T" && s.means[key] == "" {
		return "", "" // a class
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
		goText = "x = " + goText
	}
	if goText == "" || goText == "-" || goText == "x = x" || strings.HasPrefix(goText, "x = //") {
		return "", ""
	}
	return key, goText
}
