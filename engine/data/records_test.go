package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// peerRecords is testdata/records.json: what Python wrote into the other files there.
type peerRecords struct {
	Chats       []struct{ Messages []chat.Message }
	Completions []struct{ Prompt, Completion string }
}

func readPeerRecords(t *testing.T) (p peerRecords) {
	t.Helper()
	text, err := os.ReadFile("testdata/records.json")
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || len(p.Chats) == 0 || len(p.Completions) == 0 {
		t.Fatalf("got %d chats, error %v", len(p.Chats), err)
	}
	return p
}

func allRecords(t *testing.T, path string, o Records) []Record {
	t.Helper()
	d, err := o.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.Head(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The same records come out of each format, as Python's datasets wrote them.
func TestFormats(t *testing.T) {
	want := readPeerRecords(t).Completions
	for _, name := range []string{"completions.csv", "completions.json", "completions.jsonl.gz", "completions.parquet", "completions.arrow"} {
		got := allRecords(t, filepath.Join("testdata", name), Records{})
		if len(got) != len(want) {
			t.Errorf("%s: got %d records, want %d", name, len(got), len(want))
			continue
		}
		for i, r := range got {
			if r.Kind != CompletionKind || r.Prompt.Text != want[i].Prompt || r.Completion.Text != want[i].Completion || r.File != name {
				t.Errorf("%s: got %+v, want %+v", name, r, want[i])
			}
		}
	}
}

// A folder as Hugging Face's datasets writes it gives the chats that went in, whatever the split's format.
func TestHubFolder(t *testing.T) {
	chats := readPeerRecords(t).Chats
	half := len(chats) / 2
	for _, c := range []struct {
		split string
		files []string // of the records
		want  []struct{ Messages []chat.Message }
	}{
		{"train", []string{"train-00000-of-00002.parquet", "train-00001-of-00002.parquet"}, chats},
		{"validation", []string{"validation.jsonl"}, chats[1:2]},
		{"test", []string{"test.json"}, chats[:1]},
	} {
		got := allRecords(t, "testdata/hub", Records{Split: c.split})
		if len(got) != len(c.want) {
			t.Errorf("%s: got %d records, want %d", c.split, len(got), len(c.want))
			continue
		}
		for i, r := range got {
			file := c.files[0]
			if c.split == "train" && i >= half {
				file = c.files[1]
			}
			if text, want := jsonText(t, r.Messages), jsonText(t, c.want[i].Messages); text != want || r.File != file {
				t.Errorf("%s, record %d: got %s\nwant %s", c.split, i, text, want)
			}
		}
	}
}

// A folder that save_to_disk wrote gives the records that went in, whichever part of it is named.
func TestSavedFolder(t *testing.T) {
	hub := allRecords(t, "testdata/hub", Records{})
	mixed := allRecords(t, "testdata/mixed.jsonl", Records{})
	for _, c := range []struct {
		path, split string
		want        []Record
	}{
		{"saved", "", hub},
		{"saved", "train", hub},
		{"saved/train", "", hub},
		{"saved", "test", hub[:1]},
		{"saved/test", "", hub[:1]},
		{"saved/test/data-00000-of-00001.arrow", "", hub[:1]},
		{"saved", "calls", mixed},
		{"mixed.parquet", "", mixed},
	} {
		got := allRecords(t, filepath.Join("testdata", c.path), Records{Split: c.split})
		if len(got) != len(c.want) {
			t.Errorf("%s %s: got %d records, want %d", c.path, c.split, len(got), len(c.want))
			continue
		}
		for i, r := range got {
			if text, want := jsonText(t, r.Messages), jsonText(t, c.want[i].Messages); text != want {
				t.Errorf("%s %s, record %d: got %s\nwant %s", c.path, c.split, i, text, want)
			}
		}
	}
	for _, c := range []struct{ name, text, split, want string }{
		{"", "", "validation", `has no files of the split "validation", but of train, calls, test`},
		{"dataset_dict.json", `{"splits": ["../x"]}`, "", `dataset_dict.json: got split "../x", want the name of a folder`},
		{"dataset_dict.json", `{"splits": "x"}`, "", "dataset_dict.json: json: cannot unmarshal string"},
		{"dataset_dict.json", `{"splits": ["other"]}`, "other", "other has no state.json, want what save_to_disk wrote"},
		{"train/state.json", `{"_data_files": [{"filename": "/etc/passwd"}]}`, "", `state.json: got the file "/etc/passwd", want one of the folder`},
		{"train/state.json", `{"_data_files": [{"filename": "data-00002-of-00002.arrow"}]}`, "", "data-00002-of-00002.arrow: no such file"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/saved")); err != nil {
			t.Fatal(err)
		}
		if c.name != "" {
			if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := (Records{Split: c.split}).Read(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %s", c.name, c.text, err, c.want)
		}
	}
	if _, err := (Records{Split: "test"}).Read("testdata/saved/train"); err == nil || !strings.Contains(err.Error(), `has no files of the split "test", but of one without a name`) {
		t.Errorf("a split of another name: got %v", err)
	}
}

// A folder says which splits it has, a file has none; what has no configurations takes none.
func TestSplits(t *testing.T) {
	for _, c := range []struct {
		path string
		want []string
	}{
		{"hub", []string{"test", "train", "validation"}},
		{"saved", []string{"train", "calls", "test"}},
		{"saved/test", []string{""}},
		{"mixed.jsonl", nil},
	} {
		if got, err := (Records{}).Splits(filepath.Join("testdata", c.path)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, error %v, want %q", c.path, got, err, c.want)
		}
	}
	for path, want := range map[string]string{
		"saved":       `saved was written by save_to_disk and has no configs, got "one"`,
		"mixed.jsonl": `mixed.jsonl is a file, want a folder whose card has the config "one"`,
		"hub":         `got config "one", and the folder has no card that names any`,
	} {
		if _, err := (Records{Config: "one"}).Read(filepath.Join("testdata", path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	dir := folder(t, map[string]string{"state.json": `{"_data_files": []}`})
	if _, err := ReadRecords(dir); err == nil || !strings.Contains(err.Error(), dir+" has no records") {
		t.Errorf("a dataset of no rows: got %v", err)
	}
	if _, err := (Records{Prompt: "id"}).Read("testdata/saved"); err != nil {
		t.Errorf("a chat beside a prompt: %v", err)
	}
	if _, err := (Records{Messages: "turns"}).Read("testdata/saved"); err == nil || !strings.Contains(err.Error(), `got the fields "messages", "id", want "turns", "prompt" with "completion"`) {
		t.Errorf("other names: got %v", err)
	}
}

// jsonText is a value in the one way in which encoding/json writes it; arguments have their keys sorted.
func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	var plain any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err == nil {
		text, err = json.Marshal(plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A record says what it is by its fields, whose names can be others.
func TestRecordKinds(t *testing.T) {
	user, assistant := chat.Message{Role: "user", Content: "a"}, chat.Message{Role: "assistant", Content: "b"}
	turns := `[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]`
	for _, c := range []struct {
		line string
		o    Records
		want Record
	}{
		{`{"text": "größer\n"}`, Records{}, Record{Kind: TextKind, Text: "größer\n"}},
		{`{"body": "x", "text": "y"}`, Records{Text: "body"}, Record{Kind: TextKind, Text: "x"}},
		{`{"prompt": "a", "completion": "b", "text": "c"}`, Records{}, Record{Kind: CompletionKind, Prompt: Passage{Text: "a"}, Completion: Passage{Text: "b"}}},
		{`{"prompt": "a", "completion": "b", "text": "c"}`, Records{Kind: TextKind}, Record{Kind: TextKind, Text: "c"}},
		{`{"instruction": "a", "output": "b"}`, Records{Prompt: "instruction", Completion: "output"}, Record{Kind: CompletionKind, Prompt: Passage{Text: "a"}, Completion: Passage{Text: "b"}}},
		{`{"prompt": "the first turn", "messages": ` + turns + `}`, Records{}, Record{Kind: ChatKind, Messages: []chat.Message{user, assistant}}},
		{`{"dialogue": ` + turns + `}`, Records{Messages: "dialogue"}, Record{Kind: ChatKind, Messages: []chat.Message{user, assistant}}},
		{`{"messages": [{"role": "assistant", "content": null, "name": null, "tool_calls": [{"x": null}]}], "tools": "[{\"b\": 1}]"}`, Records{},
			Record{Kind: ChatKind, Messages: []chat.Message{{Role: "assistant", Fields: json.RawMessage(`{"content": null, "tool_calls": [{"x": null}]}`)}}, Tools: []json.RawMessage{json.RawMessage(`{"b": 1}`)}}},
		{`{"messages": ` + turns + `, "tools": null, "chat_template_kwargs": {"enable_thinking": false}}`, Records{},
			Record{Kind: ChatKind, Messages: []chat.Message{user, assistant}, Extra: map[string]any{"enable_thinking": false}}},
		{`{"prompt": "a", "chosen": "b", "rejected": "c"}`, Records{}, Record{Kind: PreferenceKind, Prompt: Passage{Text: "a"}, Chosen: Passage{Text: "b"}, Rejected: Passage{Text: "c"}}},
		{`{"chosen": ` + turns + `, "rejected": ` + turns + `}`, Records{}, Record{Kind: PreferenceKind, Chosen: Passage{Messages: []chat.Message{user, assistant}}, Rejected: Passage{Messages: []chat.Message{user, assistant}}}},
	} {
		path := filepath.Join(folder(t, map[string]string{"a.jsonl": "\ufeff\n" + c.line + "\n\n"}), "a.jsonl")
		c.want.File, c.want.Line = "a.jsonl", 2
		if got := allRecords(t, path, c.o); len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.line, got, c.want)
		}
	}
}

// A bad record names file and line, and can be left out.
func TestBadRecords(t *testing.T) {
	good := `{"messages": [{"role": "user", "content": "a"}]}`
	for _, c := range []struct{ name, text, want string }{
		{"a.jsonl", `{"messages": [}`, `a.jsonl:3:15: invalid character '}' looking for beginning of value`},
		{"a.jsonl", `[1]`, `a.jsonl:3: got a JSON array, want an object`},
		{"a.jsonl", `null`, `a.jsonl:3: got null, want an object`},
		{"a.jsonl", `{"messages": []} x`, `a.jsonl:3:18: invalid character 'x' after top-level value`},
		{"a.jsonl", `{"text": "b"}`, `a.jsonl:3: field "messages" is missing`},
		{"a.jsonl", `{"messages": "hello"}`, `a.jsonl:3: field "messages": got a text, want a list of messages`},
		{"a.jsonl", `{"messages": []}`, `a.jsonl:3: field "messages": got no messages`},
		{"a.jsonl", `{"messages": [1]}`, `a.jsonl:3: field "messages": message 1: got 1, want an object`},
		{"a.jsonl", `{"messages": [{"role": "user", "content": "a"}, {"content": "b"}]}`, `a.jsonl:3: field "messages": message 2: got no role`},
		{"a.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}", `a.jsonl:3: got bytes that are no UTF-8`},
		{"a.jsonl", `{"messages": [{"role": "user", "content": "a"}], "tools": {}}`, `a.jsonl:3: field "tools": got an object, want a list of tools`},
		{"a.json", `{"messages": [1]}`, `a.json:3: field "messages": message 1`},
		{"a.json", "{\"messages\":\n [}, 3}", `a.json:4:3: invalid character '}'`},
		{"a.json", `7`, `a.json:3: got a JSON number, want an object`},
		{"a.csv", `b,c`, `a.csv:3: got 2 values, want 1`},
		{"a.csv", `[`, `a.csv:3: field "messages": got a text, want a list`},
	} {
		text := good + "\n\n" + c.text + "\n" + good + "\n" + good
		if c.name == "a.json" {
			text = "[" + good + "\n,\n" + c.text + ",\n" + good + ",\n" + good + "]"
		} else if c.name == "a.csv" {
			row := `"` + strings.ReplaceAll(`[{"role": "user", "content": "a"}]`, `"`, `""`) + `"`
			text = "messages\n" + row + "\n" + c.text + "\n" + row + "\n" + row
		}
		path := filepath.Join(folder(t, map[string]string{c.name: text}), c.name)
		for _, skip := range []bool{false, true} {
			n := 0
			d, err := Records{SkipBad: skip}.Read(path)
			var skipped Skipped
			if err == nil {
				skipped, err = d.Each(t.Context(), func(Record) error { n++; return nil })
			}
			if skip {
				if err != nil || n != 3 || skipped.Count != 1 {
					t.Errorf("%s: got %d records, %d skipped, error %v", c.text, n, skipped.Count, err)
				}
				err = skipped.First
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, skip %v: got %v, want %s", c.text, skip, err, c.want)
			}
		}
	}
}

// Alpaca's fields are a prompt and a completion, unless the fields are named or others are there.
func TestAlpaca(t *testing.T) {
	for name, text := range map[string]string{
		"a.jsonl": `{"instruction": "add", "input": "1 2", "output": "3", "text": "whole"}` + "\n" + `{"instruction": "name one", "input": "", "output": "x"}` + "\n" + `{"instruction": "two", "output": "y"}`,
		"a.csv":   "instruction,input,output\nadd,1 2,3\nname one,,x\ntwo,,y\n",
	} {
		path := filepath.Join(folder(t, map[string]string{name: text}), name)
		d, err := ReadRecords(path)
		if err != nil {
			t.Fatal(err)
		}
		list, err := d.Head(9)
		if err != nil || len(list) != 3 || d.Kind != CompletionKind {
			t.Fatalf("%s: got %v, %v", name, list, err)
		}
		for i, want := range []string{"add\n1 2|3", "name one|x", "two|y"} {
			if got := list[i].Prompt.Text + "|" + list[i].Completion.Text; got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if _, err := (Records{Prompt: "instruction"}).Read(path); err == nil && name == "a.csv" {
			t.Error("a prompt with another name has no completion, and no error")
		}
	}
}

// Completions that are wanted or not, as KTO has them, are a kind of their own. As plain completions those
// not wanted are an error, or left out; labels that are neither true nor false say nothing.
func TestUnwantedCompletions(t *testing.T) {
	for name, text := range map[string]string{
		"a.jsonl": `{"prompt": "a", "completion": "b", "label": true}` + "\n" + `{"prompt": "a", "completion": "c", "label": false}` + "\n" + `{"prompt": "a", "completion": "d", "label": 0}`,
		"a.csv":   "prompt,completion,label\na,b,True\na,c,False\na,d,0\n",
	} {
		path := filepath.Join(folder(t, map[string]string{name: text}), name)
		for _, c := range []struct {
			o    Records
			want string // completions that are read, those not wanted with −
			err  string
		}{
			{Records{}, "", `: field "label": got `},
			{Records{SkipBad: true}, "b −c", ""},
			{Records{Kind: CompletionKind}, "", `: field "label" is false: the completion is one that is not wanted`},
			{Records{Kind: CompletionKind, SkipBad: true}, "b d", ""},
		} {
			d, err := c.o.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			list, err := d.Head(9)
			for _, r := range list {
				got = append(got, map[bool]string{true: "−"}[r.Unwanted]+r.Completion.Text)
			}
			switch {
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%s: got %v, want %q", name, err, c.err)
			case c.err == "" && (err != nil || strings.Join(got, " ") != c.want):
				t.Errorf("%s: got %q, %v, want %s", name, got, err, c.want)
			}
		}
	}
}

// What cannot be read on is an error, also where bad records are left out.
func TestRecordsRefused(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	fmt.Fprintln(w, `{"text": "`+strings.Repeat("long ", 10000)+`"}`)
	w.Close()
	for _, c := range []struct{ name, text, want string }{
		{"a.txt", "text", "a.txt ends in none of .jsonl, .ndjson, .json, .csv, .parquet, .arrow"},
		{"a.arrow", "text", "a.arrow: byte 0: got the bytes 74657874, want those of a batch"},
		{"a.jsonl", "", "a.jsonl has no records"},
		{"a.jsonl", "{}", `no record is good: a.jsonl:1: got no fields, want "messages", "prompt" with "completion", "text", or "chosen" with "rejected"`},
		{"a.jsonl", `{"b": 1, "a": 2}`, `a.jsonl:1: got the fields "b", "a", want "messages"`},
		{"a.jsonl", `{"prompt": "a", "completion": [{"role": "assistant", "content": "b"}]}`, "a.jsonl:1: some of the fields are texts and others messages"},
		{"a.json", `[{"text": "a"}`, "a.json:1: the file ends, want the end of the list"},
		{"a.json", `[{"text": "a"} 1]`, "a.json:1: got '1' after an item of the list, want a comma or the list's end"},
		{"a.json", `[{"text": "a"}] 1`, "a.json:1: got '1' after the list, want the end of the file"},
		{"a.json", `[{"text": "a"`, "a.json:1: the file ends, want the end of an item"},
		{"a.csv", "text,text\n1,2", `a.csv:1: two columns have the name "text"`},
		{"a.csv", "text\n\"open", `a.csv:2:1: a quote is opened here and never closed`},
		{"a.jsonl.gz", string(z.Bytes()[:len(z.Bytes())-9]), "a.jsonl.gz:2: unexpected EOF"},
		{"a.parquet", "this is no Parquet file", `a.parquet: byte 19: got "file" at the file's end, want PAR1`},
		{"a.jsonl.gz", "this is no gzip file", "a.jsonl.gz: gzip: invalid header"},
	} {
		path := filepath.Join(folder(t, map[string]string{c.name: c.text}), c.name)
		d, err := Records{SkipBad: true}.Read(path)
		if err == nil {
			_, err = d.Each(t.Context(), func(Record) error { return nil })
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %s", c.name, c.text, err, c.want)
		}
	}
	if _, err := (Records{Kind: "chats"}).Read("x"); err == nil || !strings.Contains(err.Error(), `got kind "chats", want one of ["text"`) {
		t.Errorf("got %v", err)
	}
}

// Files of a folder belong to the split that their path tells.
func TestFolders(t *testing.T) {
	line := `{"text": "a"}`
	for _, c := range []struct {
		files []string
		split string
		want  []string // or an error
	}{
		{[]string{"train.jsonl", "valid.jsonl", "test.jsonl"}, "", []string{"train.jsonl"}},
		{[]string{"train.jsonl", "valid.jsonl", "test.jsonl"}, "validation", []string{"valid.jsonl"}},
		{[]string{"data/train-00001-of-00002.jsonl", "data/train-00000-of-00002.jsonl", "data/test-00000-of-00001.jsonl"}, "train", []string{"train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl"}},
		{[]string{"train/a.jsonl", "test/a.jsonl", "dev/b.jsonl"}, "validation", []string{"b.jsonl"}},
		{[]string{"my_eval_set.jsonl", "training.jsonl"}, "test", []string{"my_eval_set.jsonl"}},
		{[]string{"b.jsonl", "a.jsonl", "README.md", ".hidden.jsonl", "dataset_info.json", ".git/x.jsonl"}, "", []string{"a.jsonl", "b.jsonl"}},
		{[]string{"a.jsonl"}, "test", []string{`has no files of the split "test", but of train`}},
		{[]string{"a.jsonl"}, "tests", []string{`has no files of the split "tests", but of train`}},
		{[]string{"README.md"}, "", []string{"has no file that ends in .jsonl"}},
		{[]string{"README.md", "one/train.jsonl", "one/test.jsonl", "two/train.jsonl"}, "", []string{"has several datasets, one, two: read the folder or the file of one"}},
		{[]string{"README.md", "one/train.jsonl", "one/test.jsonl", "two/train.jsonl"}, "test", []string{"test.jsonl"}},
		{[]string{"part1/train.jsonl", "part2/train.jsonl"}, "", []string{"train.jsonl", "train.jsonl"}},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = line
			if f == "README.md" {
				files[f] = "---\nconfigs:\n- config_name: one\n  data_files: one/*\n- config_name: 'two'\ndataset_info:\n  - config_name: one\n---\n"
			}
		}
		d, err := Records{Split: c.split}.Read(folder(t, files))
		if err != nil {
			if !strings.Contains(err.Error(), c.want[0]) {
				t.Errorf("%v %q: got %v, want %s", c.files, c.split, err, c.want)
			}
			continue
		}
		list, err := d.Head(100)
		var got []string
		for _, r := range list {
			got = append(got, r.File)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v %q: got %v, error %v, want %v", c.files, c.split, got, err, c.want)
		}
	}
}

// Reading stops with its context, and with the function's error.
func TestEachStops(t *testing.T) {
	path := filepath.Join(folder(t, map[string]string{"a.jsonl": strings.Repeat(`{"text": "a"}`+"\n", 1000)}), "a.jsonl")
	d, err := ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough, n := errors.New("enough"), 0
	_, err = d.Each(ctx, func(Record) error {
		if n++; n == 100 {
			cancel(enough)
		}
		return nil
	})
	if !errors.Is(err, enough) || n > 200 {
		t.Errorf("got %d records, error %v", n, err)
	}
	if _, err := d.Each(t.Context(), func(Record) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if list, err := d.Head(3); err != nil || len(list) != 3 || list[2].String() != `a.jsonl:3: text "a"` {
		t.Errorf("got %v, error %v", list, err)
	}
	if want := "text records · a.jsonl · 13.7 KiB"; d.String() != want {
		t.Errorf("got %q, want %q", d, want)
	}
}

// damagedFiles are whole files of each format.
func damagedFiles(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"completions.csv", "completions.json", "completions.jsonl.gz", "hub/data/validation.jsonl", "hub/data/test.json", "completions.parquet", "hub/data/train-00001-of-00002.parquet", "completions.arrow", "saved/train/data-00001-of-00002.arrow", "mixed.parquet"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = b
	}
	return files
}

// A damaged file is refused by its name, or read; what it claims takes no more memory than it may.
func TestRecordMutants(t *testing.T) {
	for name, whole := range damagedFiles(t) {
		path := filepath.Join(t.TempDir(), name)
		mutate.Each(1, 500, whole, func(i int, mutant []byte) {
			if err := os.WriteFile(path, mutant, 0o666); err != nil {
				t.Fatal(err)
			}
			for _, skip := range []bool{false, true} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				d, err := Records{SkipBad: skip}.Read(path)
				if err == nil {
					_, err = Tokens{Template: chatML(t)}.Of(t.Context(), d)
				}
				runtime.ReadMemStats(&after)
				if err != nil && !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "no record gives a sequence") {
					t.Errorf("%s, mutant %d: the error does not name the file: %v", name, i, err)
				}
				if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
					t.Errorf("%s, mutant %d: took %d bytes for a file of %d", name, i, got, len(mutant))
				}
			}
		})
	}
}
