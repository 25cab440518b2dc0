// Command gen joins the public names of PyTorch, NumPy and MLX with the engine's surface. It writes
// table.txt of package elsewhere, and docs/from-pytorch.md.
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// The files, seen from the folder of package elsewhere, in which go generate runs.
const (
	tableFile = "table.txt"
	pageFile  = "../../../../../docs/from-pytorch.md"
)

func main() {
	t, err := read(".")
	if err == nil {
		err = os.WriteFile(tableFile, []byte(t.text()), 0o644)
	}
	if err == nil {
		err = os.WriteFile(pageFile, []byte(t.page()), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range t.unanswered {
		log.Printf("%s: neither means.txt nor absent.txt has it", name)
	}
	for _, e := range t.unused() {
		log.Printf("%s: %s: absent.txt has it in vain", e.module, e.name)
	}
}

// A row is a name of another library and the Go for it, or the class of the reason why there is none.
type row struct{ name, goText, why string }

// A table has a row for each name, by its key in table.txt.
type table struct {
	*surface
	rows       map[string]row
	classes    []string          // of reasons, in the order of absent.txt
	reasons    map[string]string // by class
	absent     []*entry
	unanswered []string // names without a row
}

// An entry of absent.txt is a pattern of names of the modules that match another one.
type entry struct {
	class, module, name string
	used                bool
}

// read makes the table of names.txt, means.txt and absent.txt in a folder.
func read(dir string) (*table, error) {
	var texts [3]string
	for i, file := range []string{"names.txt", "means.txt", "absent.txt"} {
		b, err := os.ReadFile(dir + "/" + file)
		if err != nil {
			return nil, err
		}
		texts[i] = string(b)
	}
	s, err := readSurface(texts[1])
	if err != nil {
		return nil, err
	}
	t := &table{surface: s, rows: map[string]row{}, reasons: map[string]string{}}
	class := ""
	for line := range strings.Lines(texts[2]) {
		module, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if name, head := strings.CutPrefix(module, "## "); head {
			class = name
			t.classes, t.reasons[class] = append(t.classes, class), list
		} else if ok && !strings.HasPrefix(line, "# ") {
			for name := range strings.FieldsSeq(list) {
				t.absent = append(t.absent, &entry{class: class, module: module, name: name})
			}
		}
	}
	for line := range strings.Lines(texts[0]) {
		module, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		for name := range strings.FieldsSeq(list) {
			t.add(module, name)
		}
	}
	for key, goText := range s.means { // names that no list has, such as those of torch.cuda
		if _, ok := t.rows[key]; !ok && strings.Contains(key, ".") && goText != "-" {
			t.rows[key] = row{name: s.spelt[key], goText: goText}
		}
	}
	return t, nil
}

// add adds the row of a name. A name of several modules has one row, if it means the same in all.
func (t *table) add(module, name string) {
	q := elsewhere.Module(module)
	if key, goText := t.find(q, name); key != "" {
		t.rows[key] = row{name: strings.TrimPrefix(key[:len(key)-len(elsewhere.Fold(name))]+name, "."), goText: goText}
		return
	}
	i := slices.IndexFunc(t.absent, func(e *entry) bool { return matches(e.module, module) && matches(e.name, name) })
	if i < 0 {
		t.unanswered = append(t.unanswered, module+"."+name)
		return
	}
	t.absent[i].used = true
	if q == "numpy" || q == "mlx" {
		q = ""
	}
	key := strings.TrimPrefix(q+"."+elsewhere.Fold(name), ".")
	if _, ok := t.rows[key]; !ok {
		t.rows[key] = row{name: module + "." + name, why: t.absent[i].class}
	}
}

func matches(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}

// unused returns the entries that no name needed.
func (t *table) unused() (list []*entry) {
	for _, e := range t.absent {
		if !e.used {
			list = append(list, e)
		}
	}
	return list
}

// text returns table.txt: the reasons, and a row a line.
func (t *table) text() string {
	var b strings.Builder
	for _, class := range t.classes {
		fmt.Fprintf(&b, "!%s\t%s\n", class, t.reasons[class])
	}
	for _, key := range slices.Sorted(maps.Keys(t.rows)) {
		r := t.rows[key]
		if r.why != "" {
			r.goText = "!" + r.why
		}
		fmt.Fprintf(&b, "%s\t%s\n", key, r.goText)
	}
	return b.String()
}
