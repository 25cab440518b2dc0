package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// maxCard bounds a dataset's README.md.
const maxCard = 16 << 20

// A config is one of the datasets that a repository has, as its card describes it.
type config struct {
	name   string
	main   bool // the one that is read if none is named
	folder string
	splits []string   // in the card's order
	globs  [][]string // of the files of each split
}

// configs reads what the card in a folder says under "configs", nothing if there is no card.
func configs(dir string) (list []config, err error) {
	name := filepath.Join(dir, "README.md")
	card, err := regular.Read(name, maxCard)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	all, err := cardList(card, "configs")
	for i := 0; i < len(all) && err == nil; i++ {
		var c config
		if c, err = newConfig(all[i]); err == nil {
			list = append(list, c)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return list, nil
}

func newConfig(v yamlValue) (c config, err error) {
	c.name, c.folder = cmp.Or(v.get("config_name").text, "default"), strings.Trim(v.get("data_dir").text, "./")
	c.main = v.get("default").text == "true" || c.name == "default"
	files := v.get("data_files")
	switch folder := v.get("data_dir"); {
	case slices.Contains(strings.Split(folder.text, "/"), ".."):
		err = fmt.Errorf("%d: data_dir of %q: got %q, want a path inside of the folder", folder.line, c.name, folder.text)
	case files.line == 0:
	case files.pairs == nil && (len(files.list) == 0 || files.list[0].pairs == nil):
		err = c.add("train", files)
	case files.pairs != nil:
		for _, p := range files.pairs {
			err = errors.Join(err, c.add(p.key, p.value))
		}
	default:
		for _, f := range files.list {
			split, path := f.get("split"), f.get("path")
			if path.line == 0 || split.text == "" {
				return c, fmt.Errorf("%d: data_files of %q: want a split and a path", f.line, c.name)
			}
			err = errors.Join(err, c.add(split.text, path))
		}
	}
	return c, err
}

// add adds the globs of a split: one, or a list of them.
func (c *config) add(split string, v yamlValue) error {
	var globs []string
	for _, item := range append([]yamlValue{v}, v.list...) {
		glob := strings.TrimPrefix(item.text, "./")
		switch {
		case glob == "" && item.list != nil:
			continue
		case glob == "" || strings.Contains(glob, "://") || filepath.IsAbs(glob) || slices.Contains(strings.Split(glob, "/"), ".."):
			return fmt.Errorf("%d: data_files of %q: got %q, want a path inside of the folder", item.line, c.name, item.text)
		}
		if c.folder != "" {
			glob = c.folder + "/" + glob
		}
		globs = append(globs, glob)
	}
	if len(globs) == 0 {
		return fmt.Errorf("%d: data_files of %q: got no path of the split %q", v.line, c.name, split)
	}
	c.splits, c.globs = append(c.splits, split), append(c.globs, globs)
	return nil
}

// chosen is the configuration of a name; of no name, the main one or the only one. It is nil if the card does
// not say.
func chosen(list []config, name string) (*config, error) {
	var names []string
	for i, c := range list {
		if name != "" && c.name == name || name == "" && (c.main || len(list) == 1) {
			return &list[i], nil
		}
		names = append(names, c.name)
	}
	switch {
	case name == "":
		return nil, nil
	case len(list) == 0:
		return nil, fmt.Errorf("got config %q, and the folder has no card that names any", name)
	}
	return nil, fmt.Errorf("got config %q, want one of %.200s", name, visible.Line(strings.Join(names, ", ")))
}

// files are the files of each of its splits, out of all of a folder.
func (c *config) files(dir string, all []dataFile) (list []split, err error) {
	for i, name := range c.splits {
		s := split{name: name}
		for _, glob := range c.globs[i] {
			pattern, err := globPattern(glob)
			if err != nil {
				return nil, fmt.Errorf("config %q: %w", c.name, err)
			}
			before := len(s.files)
			for _, f := range all {
				if inside, err := filepath.Rel(dir, f.path); err == nil && pattern.MatchString(filepath.ToSlash(inside)) {
					s.files = append(s.files, f)
				}
			}
			if len(s.files) == before {
				return nil, fmt.Errorf("config %q: split %q: no file with records is as %q", c.name, name, glob)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// globPattern is the regular expression of a glob: ** is any number of folders, * and ? stay inside of a
// name, [a-z] is one of these.
func globPattern(glob string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch rest := glob[i:]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[' && strings.IndexByte(rest, ']') > 1:
			end := strings.IndexByte(rest, ']')
			set := strings.ReplaceAll(rest[1:end], `\`, `\\`)
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + set + "]")
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	b.WriteString("$")
	return regexp.Compile(b.String())
}

var frontMatter = lazy.Regexp(`(?s)^\s*---[ \t]*\r?\n(.*?)\r?\n---`)

// cardList reads a list out of the YAML at the head of a card; of the rest nothing is looked at.
func cardList(card []byte, key string) ([]yamlValue, error) {
	at := frontMatter().FindSubmatchIndex(card)
	if at == nil {
		return nil, nil
	}
	// Empty lines stand for what is not looked at, so that an error names the line of the card.
	text := strings.Repeat("\n", bytes.Count(card[:at[2]], []byte("\n")))
	inside := false
	for line := range strings.SplitSeq(string(card[at[2]:at[3]]), "\n") {
		line = strings.TrimRight(line, " \t\r")
		top := line != "" && line[0] != ' ' && line[0] != '-' && line[0] != '#'
		if top && inside {
			break
		}
		if inside = inside || top && strings.HasPrefix(line, key+":"); inside {
			text += line
		}
		text += "\n"
	}
	v, err := readYAML(text)
	return v.get(key).list, err
}
