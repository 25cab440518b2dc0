package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// Of a folder the same files are read as Hugging Face's datasets reads, by its card or by the names, and they
// belong to the same splits: tests/peers/dataset_folders.py.
func TestPeersFolders(t *testing.T) {
	text, err := os.ReadFile("testdata/folders.json")
	var cases []struct {
		Card, Config string
		Files        []string
		Splits       map[string][]string
	}
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil || len(cases) < 10 {
		t.Fatalf("got %d cases, error %v", len(cases), err)
	}
	for _, c := range cases {
		files := map[string]string{}
		for _, f := range c.Files {
			files[f] = `{"text": "` + f + `"}`
		}
		if c.Card != "" {
			files["README.md"] = "---\n" + c.Card + "---\n# A card\n"
		}
		dir := folder(t, files)
		for name, want := range c.Splits {
			d, err := Records{Split: name, Config: c.Config}.Read(dir)
			if err != nil {
				t.Errorf("%s\n%q %s: %v", c.Card, c.Files, name, err)
				continue
			}
			var got []string
			for _, r := range allOf(t, d) {
				got = append(got, r.Text)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s\n%q %s: got %q, want %q", c.Card, c.Files, name, got, want)
			}
		}
	}
}

func allOf(t *testing.T, d *Dataset) []Record {
	t.Helper()
	list, err := d.Head(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What a card says wrongly, or in a way that is not known, is refused with its line.
func TestCardsRefused(t *testing.T) {
	for _, c := range []struct{ card, config, want string }{
		{"configs:\n- config_name: a\n  data_files: a/*\n- config_name: b\n  data_files: b/*\n", "c", `got config "c", want one of a, b`},
		{"", "c", `got config "c", and the folder has no card that names any`},
		{"configs:\n- config_name: a\n  data_files: none/*\n", "", `config "a": split "train": no file with records is as "none/*"`},
		{"configs:\n- config_name: a\n  data_files: https://example.org/a.jsonl\n", "", `README.md:4: data_files of "a": got "https://example.org/a.jsonl", want a path inside of the folder`},
		{"configs:\n- config_name: a\n  data_files: ../a.jsonl\n", "", `README.md:4: data_files of "a": got "../a.jsonl"`},
		{"configs:\n- config_name: a\n  data_dir: ../b\n", "", `README.md:4: data_dir of "a": got "../b", want a path inside of the folder`},
		{"configs:\n- config_name: a\n  data_dir: a/../../b\n  data_files: x.jsonl\n", "", `README.md:4: data_dir of "a": got "a/../../b"`},
		{"configs:\n- config_name: a\n  data_files:\n  - split: train\n", "", `README.md:5: data_files of "a": want a split and a path`},
		{"configs:\n- config_name: a\n  data_files: |\n    x\n", "", `config "a": split "train": no file with records is as "x\n"`},
		{"configs:\n- &x\n  config_name: a\n", "", `README.md:3: got "&x", want a text`},
		{"configs:\n- config_name: 'a\n", "", `README.md:3: could not find end character of single-quoted text`},
		{"configs:\n- data_files: [a, b\n", "", `README.md:3: sequence end token ']' not found`},
		{"configs:\n- config_name: a\n   data_files: b\n", "", `README.md:3: mapping value is not allowed in this context`},
		{"configs:\n- data_files: " + strings.Repeat("[", 50) + "\n", "", `README.md:3: lists are more than 16 deep`},
		{"configs:\n- data_files:\n  - *x\n", "", `README.md:4: got "*x", want a text`},
		{"configs:\n- data_files: !!str a\n", "", `README.md:3: got "!!str a", want a text`},
		{"configs:\n- " + strings.Repeat("[\n ", 1000) + "\n", "", `README.md:35: lists are more than 16 deep`},
		{"configs:\n" + strings.Repeat("- ", 50) + "a\n", "", `README.md:3: lists are more than 16 deep`},
		{"configs:\n- data_files: []\n", "", `README.md:3: data_files of "default": got no path of the split "train"`},
	} {
		files := map[string]string{"a/x.jsonl": `{"text": "a"}`, "b/x.jsonl": `{"text": "a"}`}
		if c.card != "" {
			files["README.md"] = "---\n" + c.card + "---\n"
		}
		if _, err := (Records{Config: c.config}).Read(folder(t, files)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.card, err, c.want)
		}
	}
}

// A damaged card is refused by its name, or read.
func TestCardMutants(t *testing.T) {
	card := "---\nconfigs:\n  - config_name: \"one\" # first\n    data_files:\n      - split: train\n        path:\n          - 'one/*.jsonl'\n          - two/**/[a-c]?\n      - {split: test, path: [one/test.jsonl]}\n---\n"
	dir := folder(t, map[string]string{"one/a.jsonl": `{"text": "a"}`, "one/test.jsonl": `{"text": "a"}`})
	path := filepath.Join(dir, "README.md")
	mutate.Each(1, 500, []byte(card), func(i int, mutant []byte) {
		if err := os.WriteFile(path, mutant, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecords(dir); err != nil && !strings.Contains(err.Error(), dir) && !strings.Contains(err.Error(), "config ") {
			t.Errorf("mutant %d: the error does not name the file: %v", i, err)
		}
	})
}
