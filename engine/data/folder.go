package data

import (
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
var formats = []string{".jsonl", ".ndjson", ".json", ".csv", ".parquet"}

// formatOf is the ending that says how a file is written, or "".
func formatOf(name string) string {
	name = strings.ToLower(name)
	plain := strings.TrimSuffix(name, ".gz")
	for _, ending := range formats {
		if strings.HasSuffix(plain, ending) && !(ending == ".parquet" && plain != name) {
			return ending
		}
	}
	return ""
}

// splits are the words by which names of files and folders tell their split, as Hugging Face's datasets has
// them.
var splits = map[string][]string{
	"train":      {"train", "training"},
	"validation": {"validation", "valid", "val", "dev"},
	"test":       {"test", "testing", "eval", "evaluation"},
}

// maxCard bounds a dataset's README.md.
const maxCard = 16 << 20

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

// filesOf are the files of a split; a file alone is all splits.
func filesOf(path, split string) ([]dataFile, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !stat.IsDir() {
		format := formatOf(path)
		if format == "" {
			return nil, unknownFormat(path)
		}
		return []dataFile{{path, format, stat.Size()}}, nil
	}
	if split == "" {
		split = "train"
	}
	if splits[split] == nil {
		return nil, fmt.Errorf("got split %q, want train, validation or test", split)
	}
	all, err := recordFiles(path)
	if err != nil {
		return nil, err
	}
	bySplit := map[string][]dataFile{}
	for _, f := range all {
		inside, err := filepath.Rel(path, f.path)
		if err != nil {
			return nil, err
		}
		name := splitOf(inside)
		bySplit[name] = append(bySplit[name], f)
	}
	if len(bySplit[""]) == len(all) { // no name tells anything
		bySplit["train"] = bySplit[""]
	}
	if len(bySplit[split]) == 0 {
		var have []string
		for _, name := range []string{"train", "validation", "test"} {
			if len(bySplit[name]) > 0 {
				have = append(have, name)
			}
		}
		return nil, fmt.Errorf("%s has no files of the split %q, but of %s", path, split, strings.Join(have, ", "))
	}
	return bySplit[split], oneDataset(path, bySplit[split])
}

var configName = lazy.Regexp(`(?m)^[ -]*config_name:[ '"]*([^'"\s]+)`)

// oneDataset refuses files of several configurations, which are datasets of their own in one repository, each
// in its folder. The card names them in its YAML.
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
	return fmt.Errorf("%s has several datasets, %.200s: read the folder or the file of one", dir, visible.Line(strings.Join(names, ", ")))
}

// recordFiles are the files with records below a folder, in the order of their paths. Hidden files and
// folders are left out.
func recordFiles(dir string) (list []dataFile, err error) {
	other := ""
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != dir && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case entry.IsDir() || hidden || slices.Contains(besides, entry.Name()):
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
	if strings.HasSuffix(path, ".arrow") {
		return errors.New(path + " is in Arrow's own format, as save_to_disk writes it: write it with to_parquet or to_json")
	}
	return fmt.Errorf("%s ends in none of %s", path, strings.Join(formats, ", "))
}
