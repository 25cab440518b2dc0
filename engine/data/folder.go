package data

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// formats are the endings of files that have records.
var formats = []string{".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".arrow"}

// formatOf is the ending that says how a file of records is written, or "".
func formatOf(name string) string { return endingOf(name, formats) }

// endingOf is that one of some endings, before .gz, which says how a file is written, or "".
func endingOf(name string, formats []string) string {
	plain, zipped := strings.CutSuffix(strings.ToLower(name), ".gz")
	if ending := filepath.Ext(plain); slices.Contains(formats, ending) && !(zipped && byColumns(ending)) {
		return ending
	}
	return ""
}

// HasRecords says whether ReadRecords reads a path: a folder, or a file with an ending that it knows. It does
// not look into files.
func HasRecords(path string) bool {
	if formatOf(path) != "" {
		return true
	}
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}

// byColumns says whether files of a format keep values by columns.
func byColumns(format string) bool {
	return slices.Contains([]string{".parquet", ".arrow", ".feather"}, format)
}

// splits are the words by which names of files and folders tell their split, as Hugging Face's datasets has
// them.
var splits = map[string][]string{
	"train":      {"train", "training"},
	"validation": {"validation", "valid", "val", "dev"},
	"test":       {"test", "testing", "eval", "evaluation"},
}

// besides are files of a dataset's folder that have no records.
var besides = []string{"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json"}

var notLetters = lazy.Regexp("[^A-Za-z]+")

// splitOf is the split that a path inside of a dataset's folder tells, or "". The last word counts.
func splitOf(path string) (split string) {
	words := notLetters().Split(strings.ToLower(path), -1)
	for _, word := range slices.Backward(words) {
		for name, list := range splits {
			if slices.Contains(list, word) {
				return name
			}
		}
	}
	return ""
}

// A split is a part of a dataset.
type split struct {
	name  string
	files []dataFile
	alone bool // the folder is what save_to_disk wrote of one split
}

// filesOf are the files of a split of a configuration; a file alone is all splits.
func filesOf(path, config, name string) ([]dataFile, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !stat.IsDir() {
		format := formatOf(path)
		if format == "" {
			return nil, unknownFormat(path)
		}
		if config != "" {
			return nil, fmt.Errorf("%s is a file, want a folder whose card has the config %q", path, config)
		}
		return []dataFile{{path, format, stat.Size()}}, nil
	}
	list, told, err := allSplits(path, config)
	if err != nil {
		return nil, err
	}
	if name == "" && len(list) == 1 && list[0].alone {
		return list[0].files, nil
	}
	files, err := choose(path, cmp.Or(name, "train"), list)
	if err == nil && !told {
		err = oneDataset(path, files)
	}
	return files, err
}

// allSplits are the splits of a folder. It says whether they are surely of one dataset.
func allSplits(path, config string) (list []split, told bool, err error) {
	if alone, err := saved(path); err != nil {
		return nil, false, err
	} else if alone != nil {
		list = []split{*alone}
	} else if list, err = savedSplits(path); err != nil {
		return nil, false, err
	}
	switch {
	case list == nil:
		return folderSplits(path, config)
	case config != "":
		return nil, false, fmt.Errorf("%s was written by save_to_disk and has no configs, got %q", path, config)
	}
	return list, true, nil
}

// Splits are the names of a folder's splits ("train", "test"), of which Split chooses one; of a file alone
// there are none. One that was saved without a name is "".
func (o Records) Splits(path string) (names []string, err error) {
	stat, err := os.Stat(path)
	if err != nil || !stat.IsDir() {
		return nil, err
	}
	list, _, err := allSplits(path, o.Config)
	if err != nil {
		return nil, fmt.Errorf("data: splits: %w", err)
	}
	for _, s := range list {
		names = append(names, s.name)
	}
	return names, nil
}

// choose returns the files of the split of a name.
func choose(path, name string, list []split) ([]dataFile, error) {
	if s := pick(list, name); s != nil {
		return s.files, nil
	}
	var have []string
	for _, s := range list {
		have = append(have, cmp.Or(s.name, "one without a name"))
	}
	return nil, fmt.Errorf("%s has no files of the split %q, but of %.200s", path, name, visible.Line(strings.Join(have, ", ")))
}

// pick is the split of a name, or of another word for it; nil if there is none.
func pick(list []split, name string) *split {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	for i := range list {
		if slices.Contains(splits[name], list[i].name) {
			return &list[i]
		}
	}
	return nil
}

// folderSplits are the splits of a folder: those of its card, or else those that the paths tell. It says
// whether the card told of which configuration they are.
func folderSplits(path, name string) (list []split, told bool, err error) {
	cards, err := configs(path)
	if err != nil {
		return nil, false, err
	}
	c, err := chosen(cards, name)
	if err != nil {
		return nil, false, err
	}
	if c != nil && c.folder != "" && len(c.splits) == 0 {
		path = filepath.Join(path, filepath.FromSlash(c.folder))
	}
	all, err := recordFiles(path)
	switch {
	case err != nil:
	case c != nil && len(c.splits) > 0:
		list, err = c.files(path, all)
	default:
		list, err = splitsOf(path, all)
	}
	return list, c != nil, err
}

// splitsOf are the splits that paths tell: as a shard of one with a name of its own, or by their words. Where
// no path tells anything all is for training.
func splitsOf(path string, all []dataFile) (list []split, err error) {
	for _, f := range all {
		inside, err := filepath.Rel(path, f.path)
		if err != nil {
			return nil, err
		}
		inside = filepath.ToSlash(inside)
		name := splitOf(inside)
		if m := shard().FindStringSubmatch(inside); m != nil {
			name = m[1]
		}
		if name == "" {
			continue
		}
		if s := pick(list, name); s != nil {
			s.files = append(s.files, f)
		} else {
			list = append(list, split{name: name, files: []dataFile{f}})
		}
	}
	if list == nil {
		list = []split{{name: "train", files: all}}
	}
	return list, nil
}

// shard is a file of a split in the folder data, as push_to_hub names them.
var shard = lazy.Regexp(`^data/([^/]+)-[0-9]{5}-of-[0-9]{5}[^/]*$`)

// savedSplits are those of a folder into which save_to_disk wrote several, nil if it is none: a list is in
// dataset_dict.json, and each has a folder.
func savedSplits(path string) (list []split, err error) {
	var dict struct{ Splits []string }
	found, err := readSettings(filepath.Join(path, "dataset_dict.json"), &dict)
	if !found || err != nil {
		return nil, err
	}
	for _, name := range dict.Splits {
		if !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
			return nil, fmt.Errorf("%s: got split %q, want the name of a folder", filepath.Join(path, "dataset_dict.json"), name)
		}
		s, err := saved(filepath.Join(path, name))
		if err == nil && s == nil {
			err = fmt.Errorf("%s has no state.json, want what save_to_disk wrote", filepath.Join(path, name))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, split{name: name, files: s.files})
	}
	return list, nil
}

// saved is the split in a folder into which save_to_disk wrote one, nil if it is none. state.json has its
// files, and its name if it has one.
func saved(path string) (*split, error) {
	var state struct {
		Files []struct{ Filename string } `json:"_data_files"`
		Split string                      `json:"_split"`
	}
	name := filepath.Join(path, "state.json")
	if found, err := readSettings(name, &state); !found || err != nil || state.Files == nil {
		return nil, err
	}
	s := &split{name: state.Split, alone: true}
	for _, f := range state.Files {
		format := formatOf(f.Filename)
		if !filepath.IsLocal(f.Filename) || format == "" {
			return nil, fmt.Errorf("%s: got the file %q, want one of the folder", name, f.Filename)
		}
		file := filepath.Join(path, f.Filename)
		stat, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, dataFile{file, format, stat.Size()})
	}
	return s, nil
}

// readSettings reads a file of JSON, and says whether it is there.
func readSettings(name string, to any) (found bool, err error) {
	b, err := regular.Read(name, maxCard)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

var configName = lazy.Regexp(`(?m)^[ -]*config_name:[ '"]*([^'"\s]+)`)

// oneDataset refuses files of several configurations, which are datasets of their own in one repository, each
// in its folder, where the card names them and no one was chosen.
func oneDataset(dir string, files []dataFile) error {
	folders := map[string]bool{}
	for _, f := range files {
		folders[filepath.Dir(f.path)] = true
	}
	card, err := regular.Read(filepath.Join(dir, "README.md"), maxCard)
	if len(folders) < 2 || err != nil {
		return nil
	}
	var names []string
	for _, match := range configName().FindAllSubmatch(card, -1) {
		if name := string(match[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return fmt.Errorf("%s has several datasets, %.200s: read the folder or the file of one, or choose its config", dir, visible.Line(strings.Join(names, ", ")))
}

// recordFiles are the files with records below a folder, in the order of their paths. Hidden files and
// folders are left out.
func recordFiles(dir string) (list []dataFile, err error) {
	other := ""
	err = walk(dir, func(path string, entry fs.DirEntry) error {
		if entry.IsDir() || slices.Contains(besides, entry.Name()) {
			return nil
		}
		format := formatOf(path)
		if format == "" {
			if other == "" && !strings.EqualFold(entry.Name(), "README.md") {
				other = path
			}
			return nil
		}
		stat, err := os.Stat(path) // a link counts as what it points to
		if err != nil {
			return err
		}
		list = append(list, dataFile{path, format, stat.Size()})
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 && other != "":
		return nil, unknownFormat(other)
	case len(list) == 0:
		return nil, fmt.Errorf("%s has no file that ends in %s", dir, strings.Join(formats, ", "))
	}
	return list, nil
}

// unknownFormat says why a file is not read.
func unknownFormat(path string) error {
	return fmt.Errorf("%s ends in none of %s", path, strings.Join(formats, ", "))
}
