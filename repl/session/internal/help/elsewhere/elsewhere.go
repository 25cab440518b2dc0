// Package elsewhere knows the public names of PyTorch, NumPy and MLX, and the Go that stands for them here.
//
// Names.txt has the names, which tests/peers/public_names.py reads from the installed packages. Means.txt
// says what stands here for names that are spelt otherwise. Package gen joins the two with the engine's
// surface: table.txt, which this package reads, and docs/from-pytorch.md.
package elsewhere

import (
	_ "embed"
	"strings"
	"sync"
)

//go:generate go run ./gen

//go:embed table.txt
var table string

var entries = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(table) {
		if name, goText, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			m[name] = goText
		}
	}
	return m
})

// modules maps the names under which people import a module to its name in the table. An empty name
// is that of all functions and methods of arrays.
var modules = map[string]string{
	"np": "numpy", "numpy": "numpy", "mx": "mlx", "nn": "nn", "torch.nn": "nn", "optim": "optim", "torch.optim": "optim", "Module": "module", "Optimizer": "optimizer",
}

// Lookup returns the Go for a public name of a module: ("np", "concatenate"), ("nn", "ReLU"), ("", "view").
// Module "Module" has the methods of models and "Optimizer" those of optimizers. The case of letters and
// underscores between words do not count. In the Go x and y are tensors, index is one of integers, m is a
// model and opt an optimizer. A text that begins with // says why there is nothing to write. It returns ""
// for a name that is unknown or has no equivalent.
func Lookup(module, name string) string {
	name = Fold(name)
	module = modules[module]
	if goText, ok := entries()[module+"."+name]; ok {
		return goText
	}
	if module == "module" || module == "optimizer" || module == "optim" {
		return ""
	}
	return entries()[name]
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
