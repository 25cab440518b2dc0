package jupyter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// SpecName is the name under which a kernel is installed unless another is given.
const SpecName = "mcs"

// A spec is a kernel.json: how clients start a kernel.
type spec struct {
	Argv      []string          `json:"argv"`
	Display   string            `json:"display_name"`
	Language  string            `json:"language"`
	Interrupt string            `json:"interrupt_mode"`
	Env       map[string]string `json:"env"`
	Metadata  map[string]any    `json:"metadata"`
}

// logo is what clients show beside the name: a loss that falls.
const logo = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64"><rect width="64" height="64" rx="12" fill="#00758d"/>` +
	`<path d="M10 14C18 44 30 48 54 50" fill="none" stroke="#fff" stroke-width="6" stroke-linecap="round"/></svg>` + "\n"

// Install writes a kernel's specification, in which program is the path of mcs, into a folder of Jupyter's
// data. It returns the folder of the kernel. A kernel of that name that is not one of mcs stays.
func Install(data, name, program string) (dir string, err error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	dir = filepath.Join(data, "kernels", name)
	if _, err := os.Lstat(dir); err == nil {
		if in, err := read(dir); err != nil || !in.ours() {
			return "", fmt.Errorf("install: %s is there, and is no kernel of mcs; --name gives another name", dir)
		}
	}
	s := spec{Argv: []string{program, "jupyter", "run", "{connection_file}"}, Display: "Go (" + name + ")", Language: "go", Interrupt: "message",
		Env: map[string]string{}, Metadata: map[string]any{"debugger": false, "supported_encryption": "curve"}}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := durable.WriteFile(filepath.Join(dir, "logo-svg.svg"), durable.Text(logo)); err != nil {
		return "", err
	}
	return dir, durable.WriteFile(filepath.Join(dir, "kernel.json"), durable.Text(string(text)+"\n"))
}

// checkName refuses a name that clients would not take, or that leads elsewhere.
func checkName(name string) error {
	wrong := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.", r) }
	if name == "" || strings.Trim(name, ".") == "" || strings.ContainsFunc(strings.ToLower(name), wrong) {
		return fmt.Errorf("install: got name %q, want letters, digits, -, _ and points", name)
	}
	return nil
}

// Remove removes a kernel of mcs from a folder of Jupyter's data. It returns the folder that was the
// kernel's.
func Remove(data, name string) (dir string, err error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	dir = filepath.Join(data, "kernels", name)
	in, err := read(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("remove: there is no kernel %s", dir)
	case err != nil:
		return "", err
	case !in.ours():
		return "", fmt.Errorf("remove: %s is no kernel of mcs", dir)
	}
	return dir, os.RemoveAll(dir)
}

// An Installed is a kernel of mcs that clients find.
type Installed struct {
	Name, Dir string
	Program   string // the path of mcs
	Missing   bool   // there is no such program any more
}

// List returns the kernels of mcs in folders of Jupyter's data.
func List(folders []string) (list []Installed) {
	for _, data := range folders {
		entries, _ := os.ReadDir(filepath.Join(data, "kernels")) // a folder that cannot be read has none
		for _, e := range entries {
			dir := filepath.Join(data, "kernels", e.Name())
			s, err := read(dir)
			if err != nil || !s.ours() {
				continue
			}
			_, err = os.Stat(s.Argv[0])
			list = append(list, Installed{e.Name(), dir, s.Argv[0], err != nil})
		}
	}
	return list
}

func read(dir string) (*spec, error) {
	text, err := regular.Text(filepath.Join(dir, "kernel.json"), maxConnection)
	if err != nil {
		return nil, err
	}
	s := new(spec)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

// ours says whether a kernel is one of mcs.
func (s *spec) ours() bool {
	return len(s.Argv) >= 3 && slices.Equal(s.Argv[1:3], []string{"jupyter", "run"})
}

// UserData is the person's folder of Jupyter's data.
func UserData() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Jupyter"), nil
	case "windows":
		return filepath.Join(cmp.Or(os.Getenv("APPDATA"), filepath.Join(home, "AppData", "Roaming")), "jupyter"), nil
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "jupyter"), nil
}

// PrefixData is the folder of Jupyter's data below a prefix, such as a virtual environment.
func PrefixData(prefix string) string { return filepath.Join(prefix, "share", "jupyter") }

// Environment is the prefix of the active virtual or Conda environment, or "".
func Environment() string { return cmp.Or(os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")) }

// DataFolders are the folders of Jupyter's data where clients look for kernels, the first found first.
func DataFolders() (list []string) {
	list = filepath.SplitList(os.Getenv("JUPYTER_PATH"))
	if dir, err := UserData(); err == nil {
		list = append(list, dir)
	}
	if prefix := Environment(); prefix != "" {
		list = append(list, PrefixData(prefix))
	}
	if runtime.GOOS == "windows" {
		return append(list, filepath.Join(cmp.Or(os.Getenv("PROGRAMDATA"), `C:\ProgramData`), "jupyter"))
	}
	return append(list, "/usr/local/share/jupyter", "/usr/share/jupyter")
}
