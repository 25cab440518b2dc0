package nn_test

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
)

func TestTargeted(t *testing.T) {
	const q = "model.layers.10.self_attn.q_proj"
	for _, c := range []struct {
		targets, name string
		want          bool
	}{
		{"q_proj", q, true},
		{"self_attn.q_proj", q, true},
		{"attn.q_proj", q, false}, // an end begins behind a dot
		{q, q, true},
		{"k_proj v_proj", q, false},
		{"k_proj, q_proj", q, true},
		{"model.layers.1[0-9].*", q, true},
		{"model.layers.[0-9].*", q, false},
		{`/.*\.(q|v)_proj/`, q, true},
		{`/(q|v)_proj/`, q, false}, // the whole name must match, as PEFT has it
		{`/model\.layers\.\d{1,2}\.self_attn.*/`, q, true},
		{`k_proj /.* .*/ q_proj`, q, true}, // a space inside of an expression
		{nn.AllLinear, q, true},
		{nn.AllLinear, "lm_head", false},
		{"", q, false},
	} {
		if got, err := nn.Targeted(c.targets, c.name); got != c.want || err != nil {
			t.Errorf("%q, %s: got %v, %v, want %v", c.targets, c.name, got, err, c.want)
		}
	}
	for targets, want := range map[string]string{
		"[":        `got target pattern "[": syntax error in pattern`,
		"/q_proj":  `got target "/q_proj", want a / behind the regular expression`,
		"/(/":      "missing closing )",
		"/(?!a)b/": "invalid or unsupported Perl syntax",
	} {
		if _, err := nn.Targeted(targets, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", targets, err, want)
		}
	}
}
