// Command gen joins the public names of PyTorch, NumPy and MLX with the engine's surface. It writes
// table.txt of package elsewhere, and docs/from-pytorch.md.
package main

import (
	"fmt"
	"log"
	"os"
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
	for _, pattern := range t.absent.unused() {
		log.Printf("%s: absent.txt has it in vain", pattern)
	}
}

// A row is a name of another library and the Go for it, or the reason why there is none.
type row struct{ name, goText, why string }

// A table has a row for each name, by its key in table.txt.
type table struct {
	*surface
	absent     *absent
	rows       map[string]row
	unanswered []string // names without a row
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
	t := &table{surface: s, absent: readAbsent(texts[2]), rows: map[string]row{}}
	for line := range strings.Lines(texts[0]) {
		module, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, name := range strings.Fields(list) {
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
	q := qualifier(module)
	if key, goText := t.find(q, name); key != "" {
		t.rows[key] = row{name: strings.TrimPrefix(key[:len(key)-len(elsewhere.Fold(name))]+name, "."), goText: goText}
		return
	}
	class := t.absent.class(module, name)
	if class == "" {
		t.unanswered = append(t.unanswered, module+"."+name)
		return
	}
	if q == "numpy" || q == "mlx" {
		q = ""
	}
	key := strings.TrimPrefix(q+"."+elsewhere.Fold(name), ".")
	if _, ok := t.rows[key]; !ok {
		t.rows[key] = row{name: module + "." + name, why: class}
	}
}

// keys returns the keys of the rows in order.
func (t *table) keys() []string {
	keys := make([]string, 0, len(t.rows))
	for key := range t.rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// text returns table.txt: the reasons, and a row a line.
func (t *table) text() string {
	var b strings.Builder
	for _, class := range t.absent.classes {
		fmt.Fprintf(&b, "!%s\t%s\n", class, t.absent.reasons[class])
	}
	for _, key := range t.keys() {
		r := t.rows[key]
		if r.why != "" {
			r.goText = "!" + r.why
		}
		fmt.Fprintf(&b, "%s\t%s\n", key, r.goText)
	}
	return b.String()
}

// qualifier returns what stands before the names of a module in means.txt.
func qualifier(module string) string {
	switch module {
	case "torch", "torch.Tensor", "torch.nn.functional":
		return ""
	case "numpy", "numpy.ndarray":
		return "numpy"
	case "numpy.random", "torch.nn", "torch.optim", "mlx.nn", "torch.linalg", "numpy.linalg":
		return module[strings.LastIndexByte(module, '.')+1:]
	case "mlx.core":
		return "mlx"
	case "mlx.optimizers":
		return "optim"
	case "torch.nn.Module", "mlx.nn.Module":
		return "module"
	case "torch.nn.init":
		return "init"
	case "torch.nn.utils":
		return "utils"
	case "torch.optim.Optimizer":
		return "optimizer"
	case "torch.optim.lr_scheduler":
		return "lrscheduler"
	case "torch.utils.data":
		return "data"
	}
	panic("unknown module " + module)
}
