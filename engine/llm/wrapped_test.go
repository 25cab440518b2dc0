package llm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/safetensors"
)

// Of models of pictures or sound the model of text is read, which computes what transformers computes with
// all of it. testdata/wrapped was written by tests/peers/decoder_wrapped.py.
func TestTextPart(t *testing.T) {
	list, err := filepath.Glob("testdata/wrapped/*")
	if err != nil || len(list) < 8 {
		t.Fatal(list, err)
	}
	for _, dir := range list {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := loaded(t, dir)
			expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-4) {
				t.Errorf("logits differ by %.3g of the largest", d)
			}
			if got := m.String(); !strings.HasSuffix(got, " · text only: 2 tensors of pictures or sound not read") {
				t.Errorf("got %q", got)
			}
			to := filepath.Join(t.TempDir(), "text")
			if err := Save(to, m); err != nil {
				t.Fatal(err)
			}
			again := loaded(t, to)
			if d := relative(again.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-4) || again.Config.Family != m.Config.Family {
				t.Errorf("the folder of the text part, of the family %s: logits differ by %.3g", again.Config.Family, d)
			}
		})
	}
}

// A text part of an unknown family is refused by its name, and so are codes, which the outer settings say.
func TestTextPartRefuses(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`"model_type": "gemma3_text"`, `"model_type": "gemma3n_text"`, `text part of gemma3: `},
		{`"model_type": "gemma3_text"`, `"model_type": "gemma3n_text"`, `got "gemma3n_text", which has several streams beside each other`},
		{`"model_type": "gemma3"`, `"quantization_config": {"quant_method": "hqq"}, "model_type": "gemma3"`, `codes of "hqq"`},
		{`"vocab_size": 48`, `"other": 48`, `want shape [262208 16]`}, // as the class of the text part has it
		{`"model_type": "gemma3"`, `"model_type": "mllama"`, `got "mllama", which has attention to pictures`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/wrapped/gemma3")); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, configFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), test.old, test.new, 1)
		if changed == string(text) {
			t.Fatalf("%s is not in the file", test.old)
		}
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(context.Background(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.new, err, test.want)
		}
	}
}
