package help

import (
	"embed"
	"strings"
	"sync"
)

// Tables has what is said, as text. Each file says at its head what its columns are.
//
//go:embed tables/*.txt
var tables embed.FS

// rows returns the lines of a table, cut at tabs. Lines that begin with "# " are remarks.
func rows(name string) (list [][]string) {
	text, err := tables.ReadFile("tables/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			list = append(list, strings.Split(line, "\t"))
		}
	}
	return list
}

// A Word is a keyword, or a predeclared function.
type Word struct{ Form, Doc string } // the form of a function is its signature

// Language returns the words of the language.
var Language = sync.OnceValue(func() map[string]Word {
	words := map[string]Word{}
	for _, row := range rows("language") {
		words[row[0]] = Word{row[1], row[2]}
	}
	return words
})
