package cpu

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/internal/lazy"
)

// assembled finds the functions in a listing that are written in assembly: their names end in what the
// processor needs.
var assembled = lazy.Regexp(`\w+?(?:AVX512|AVX2|BF16|NEON)\b`)

// assemblyOf returns the text of the functions that a listing names, each once.
func assemblyOf(listing string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, name := range assembled().FindAllString(listing, -1) {
		if !seen[name] {
			seen[name] = true
			b.WriteString(assembly(name))
		}
	}
	return b.String()
}

// assembly returns the text of a function, "" if there is none.
func assembly(name string) string {
	for _, files := range []embed.FS{micro.Assembly, vec.Assembly} {
		list, err := fs.Glob(files, "*.s")
		if err != nil {
			continue
		}
		for _, file := range list {
			text, err := files.ReadFile(file)
			if err != nil {
				continue
			}
			if _, from, found := strings.Cut(string(text), "\nTEXT ·"+name+"(SB)"); found {
				body, _, _ := strings.Cut(from, "\nTEXT ")
				return "\n\nTEXT ·" + name + "(SB)" + strings.TrimRight(body, "\n")
			}
		}
	}
	return ""
}
