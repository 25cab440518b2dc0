// Package elsewhere knows the public names of PyTorch, NumPy and MLX, and the Go that stands for them here:
// table.txt, of which a test makes docs/from-pytorch.md. Names.txt, which tests/peers/public_names.py reads
// from the installed packages, has the names that the table has to have.
package elsewhere

import (
	_ "embed"
	"strings"
	"sync"
)

//go:generate go test -run ^TestPageIsCurrent$ -write .

//go:embed table.txt
var table string

// keyOf returns the key of a name with its module. What has nothing here has it as a method, too.
func keyOf(name, goText string) string {
	at := strings.LastIndexByte(name, '.')
	mod := Module(name[:max(at, 0)])
	if goText[0] == '!' && (mod == "numpy" || mod == "mlx") {
		mod = ""
	}
	return strings.TrimPrefix(mod+"."+Fold(name[at+1:]), ".")
}

// entries are the texts of the table by the keys of names; that of a class of reasons begins with "!".
var entries = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(table) {
		names, goText, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case ok && names[0] == '!':
			m[names] = goText
		case ok:
			for name := range strings.FieldsSeq(names) {
				m[keyOf(name, goText)] = goText
			}
		}
	}
	return m
})

// modules maps the names under which people import a module to its name in the table. An empty name
// is that of all functions and methods of arrays.
var modules = map[string]string{
	"": "", "torch": "", "F": "", "nn.functional": "", "jnp": "", "torch.Tensor": "", "tensor": "", "ndarray": "numpy", "core": "mlx",
	"np": "numpy", "numpy": "numpy", "np.ndarray": "numpy", "mx": "mlx", "mx.fast": "mlx",
	"nn.Module": "module", "Module": "module", "optim.Optimizer": "optimizer", "Optimizer": "optimizer", "Param": "param",
	"optim.lr_scheduler": "lrscheduler", "lr_scheduler": "lrscheduler", "utils.data": "data", "nn.init": "init", "nn.utils": "utils",
	"transformers": "hub", "peft": "hub", "trl": "hub", "datasets": "hub", "huggingface_hub": "hub", "sentence_transformers": "hub",
	"optimizers": "optim", "mx.optimizers": "optim", "mlx.optimizers": "optim",
}

// arrays are the modules whose names may be those of functions and methods of arrays.
var arrays = map[string]bool{"": true, "numpy": true, "mlx": true, "random": true, "linalg": true, "fft": true, "nn": true, "cuda": true}

// Module returns a module's name in the table: numpy for np, nn for torch.nn.
func Module(name string) string {
	if m, ok := modules[name]; ok {
		return m
	}
	for _, package_ := range []string{"torch.", "np.", "numpy.", "mx.", "mlx.", "mlx.core."} {
		if rest, ok := strings.CutPrefix(name, package_); ok {
			return Module(rest)
		}
	}
	return Fold(name)
}

// Known says whether people import a module of arrays under a name: np, torch.nn, F.
func Known(name string) bool {
	m, ok := modules[name]
	if !ok {
		m = Module(name)
	}
	return ok && name != "" || arrays[m] && name != "tensor"
}

// Forms returns the Go for a public name of a module: one text for each number of arguments, the last of
// which is that for more. It is empty for a name that is unknown or has no equivalent.
func Forms(mod, name string) []string {
	goText := lookup(mod, name)
	if goText == "" || strings.HasPrefix(goText, "!") || strings.HasPrefix(goText, "//") {
		return nil
	}
	return strings.Split(goText, " | ")
}

// Lookup returns the Go for a public name of a module: ("np", "concatenate"), ("nn", "ReLU"), ("", "view").
// Module "Module" has the methods of models and "Optimizer" those of optimizers. The case of letters and
// underscores between words do not count. In the Go x and y are tensors, index is one of integers, m is a
// model and opt an optimizer. A text that begins with // says why there is nothing to write. It returns ""
// for a name that is unknown.
func Lookup(mod, name string) string {
	goText := lookup(mod, name)
	if strings.HasPrefix(goText, "!") {
		return "// nothing here stands for it: " + entries()[goText]
	}
	goText, _, _ = strings.Cut(goText, " | ")
	return goText
}

// lookup returns the table's text for a name, or "".
func lookup(mod, name string) string {
	name, mod = Fold(name), Module(mod)
	goText, ok := entries()[strings.TrimPrefix(mod+"."+name, ".")]
	if !ok && arrays[mod] {
		goText = entries()[name]
	}
	if base, changes := strings.CutSuffix(name, "_"); changes && goText == "" && mod == "" { // add_ changes x
		if text := entries()[base]; strings.HasPrefix(text, "x.") {
			goText = "x = " + strings.ReplaceAll(text, " | ", " | x = ")
		}
	}
	return goText
}

// Fold returns a name in small letters and without underscores, except one at its end, which
// is part of the name in PyTorch.
func Fold(name string) string {
	folded := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	if strings.HasSuffix(name, "_") {
		folded += "_"
	}
	return folded
}
