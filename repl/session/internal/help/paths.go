package help

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/stdlib"
)

// completeString completes the text of a string: the path of a package after import, and the path of a
// file where one is likely.
func (pl *place) completeString(before string) (from int, list []Completion) {
	text := pl.Prefix
	if pl.Facts == nil { // an import
		if !strings.HasPrefix(text, ".") {
			for _, path := range stdlib.Paths() {
				if strings.HasPrefix(path, text) {
					list = append(list, Completion{Text: path, Kind: "package", Doc: firstSentence(stdlib.Doc(path, ""))})
				}
			}
			return len(before) - len(text), list
		}
		from, list = pl.h.CompletePath(text)
		list = slices.DeleteFunc(list, func(c Completion) bool { return !strings.HasSuffix(c.Text, string(filepath.Separator)) })
		return len(before) - len(text) + from, list
	}
	if from, list = pl.completeKey(before); list != nil {
		return from, list
	}
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") || pl.pathWanted() {
		from, list = pl.h.CompletePath(text)
		// A name that would have to be escaped is left out.
		list = slices.DeleteFunc(list, func(c Completion) bool { return strings.ContainsAny(c.Text, "\"\\`\n") })
		return len(before) - len(text) + from, list
	}
	return len(before), nil
}

// pathWanted says whether the string at the cursor is the argument of a parameter with a name like path.
func (pl *place) pathWanted() bool {
	call, p := pl.parameter(pl.Inner())
	if p == nil {
		return false
	}
	switch strings.ToLower(p.Name()) {
	case "path", "file", "filename", "dir", "folder", "root", "oldpath", "newpath", "paths", "files", "filenames", "pattern", "tensorsfile":
		return true
	case "name", "elem":
		o := pl.object(call.Fun)
		return o != nil && o.Pkg() != nil && slices.Contains([]string{"os", "io/fs", "path/filepath"}, o.Pkg().Path())
	}
	return false
}

// CompletePath completes the path of a file, relative to the session's folder. From is where the last
// element of the path begins. Folders end with a separator. Hidden files are listed only after a dot.
func (h *Helper) CompletePath(path string) (from int, list []Completion) {
	dir, prefix := filepath.Split(path)
	folder := dir
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			folder = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(h.Dir(), folder)
	}
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if err != nil {
		return len(dir), nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && prefix == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.IsDir() {
			name += string(filepath.Separator)
		}
		list = append(list, Completion{Text: name, Kind: "file"})
	}
	return len(dir), list
}
