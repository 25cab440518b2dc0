package magics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/session"
)

var storeMagic = Magic{
	Name: "store", Family: "Variables", Session: true, Args: "[NAME…]", Takes: TakesKept,
	Flags: []Flag{
		{Name: "r", Help: "bring the values back: all, or those that are named"},
		{Name: "d", Help: "delete what is kept"},
	},
	Summary: "keep tensors for later sessions, or list what is kept",
	Help: "Of a tensor, a map of tensors, or a module, whose parameters are kept; -r loads them into a module that has the name. Each is a\n" +
		".safetensors file in mcs/store of the user's configuration folder. mcs --resume brings back what the session had stored.",
	Example: "w := tensor.Randn(2, 2)\n%store w\n%store\n%store -r w\n%store -d w",
	run:     runStore,
}

// storedSuffix ends the names of the files of %store.
const storedSuffix = ".safetensors"

// kindKey is the metadata of a stored file that says what the value was: "tensor" or "map". A module has
// none.
const kindKey = "mcs"

func runStore(ctx context.Context, c *call) (display.Value, error) {
	dir, err := journal.Place("store")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	names := c.words()
	switch {
	case c.on("r") && c.on("d"):
		return nil, c.errorf("got -r and -d, want one of them")
	case len(names) == 0 && !c.on("r"):
		return listStored(dir)
	case len(names) == 0:
		for _, f := range storedFiles(dir) {
			names = append(names, strings.TrimSuffix(f.Name(), storedSuffix))
		}
	}
	act := c.store
	switch {
	case c.on("r"):
		act = c.bringBack
	case c.on("d"):
		act = func(_ context.Context, _, path string) error { return os.Remove(path) }
	}
	for _, name := range names {
		if !token.IsIdentifier(name) { // which is a file's name, too
			return nil, c.errorf("got %s, want the name of a variable", name)
		}
		if err := act(ctx, name, filepath.Join(dir, name+storedSuffix)); errors.Is(err, fs.ErrNotExist) {
			return nil, c.errorf("nothing is kept of %s", name)
		} else if err != nil {
			return nil, c.errorf("%w", err)
		}
	}
	return nil, nil
}

// storedAgain returns the command that brings back what a %store has kept: "" for one that keeps nothing.
func storedAgain(line string) string {
	_, args, _ := cell.ParseCommand(line)
	flags, names, err := storeMagic.parse(args)
	switch {
	case err != nil || flags["d"] == true || names == "" && flags["r"] != true:
		return ""
	case flags["r"] == true:
		return line
	}
	return "%store -r " + names
}

// variable is the variable of the session with a name; without one its value is nil.
func (c *call) variable(name string) session.Var {
	for _, v := range c.s.Vars() {
		if v.Name == name && v.Kind == "var" {
			return v
		}
	}
	return session.Var{}
}

// store writes the value of a variable.
func (c *call) store(_ context.Context, name, path string) error {
	v := c.variable(name)
	if v.Name == "" {
		return fmt.Errorf("%s is not a variable of the session", name)
	}
	kept, kind := map[string]tensor.Tensor{}, ""
	switch x := v.Value.(type) {
	case tensor.Tensor:
		kept[name], kind = x, "tensor"
	case map[string]tensor.Tensor:
		kept, kind = x, "map"
	case nn.Module:
		return nn.Save(path, x)
	default:
		return fmt.Errorf("%s is a %s, want a tensor, a map of tensors or a module", name, v.Type)
	}
	return safetensors.Save(path, kept, map[string]string{kindKey: kind})
}

// bringBack loads a stored value into a variable.
func (c *call) bringBack(ctx context.Context, name, path string) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	kind := f.Metadata()[kindKey]
	f.Close()
	result, value := "tensor.Tensor", fmt.Sprintf("m[%q]", name)
	switch kind {
	case "":
		m, ok := c.variable(name).Value.(nn.Module)
		if !ok {
			return fmt.Errorf("%s was a module, and the session has none with this name to load it into", name)
		}
		return nn.Load(path, m)
	case "map":
		result, value = "map[string]tensor.Tensor", "m"
	}
	code := fmt.Sprintf("%s := func() %s { m, _, err := safetensors.Load(%q); if err != nil { panic(err) }; return %s }()", name, result, path, value)
	return c.s.Declare(ctx, code, func(run func()) { run() })
}

// storedFiles are the files of a folder that %store has written.
func storedFiles(dir string) (list []os.DirEntry) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if strings.HasSuffix(e.Name(), storedSuffix) && e.Type().IsRegular() {
			list = append(list, e)
		}
	}
	return list
}

func listStored(dir string) (display.Value, error) {
	t := display.NewTable("name", "kept", ">bytes")
	for _, e := range storedFiles(dir) {
		stat, err := e.Info()
		if err != nil {
			continue
		}
		what := ""
		if f, err := safetensors.Open(filepath.Join(dir, e.Name())); err == nil {
			what = cmp.Or(f.Metadata()[kindKey], "module")
			f.Close()
		}
		t.Add(display.Cell{Text: strings.TrimSuffix(e.Name(), storedSuffix), Role: display.Name}, what, display.BytesCell(stat.Size()))
	}
	if len(t.Rows) == 0 {
		return display.Text("nothing is kept; %store NAME keeps a tensor"), nil
	}
	t.Foot = units.Plural(int64(len(t.Rows)), "value") + " in " + dir
	return t, nil
}
