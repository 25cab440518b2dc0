package nn

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// AllLinear as a target means every linear layer but the output layer lm_head.
const AllLinear = "all-linear"

// A Target chooses modules by their names.
type Target struct {
	text string
	re   *regexp.Regexp // of the text between slashes, or nil
}

// Targets reads targets that are separated by spaces or commas. A target is AllLinear, a module's full name
// or the end of it behind a dot ("q_proj", "self_attn.q_proj"), a path.Match pattern of the full name
// ("model.layers.[0-3].*"), or a regular expression of the full name between slashes
// (`/.*\.(q|v)_proj/`), which may contain spaces and commas.
func Targets(text string) ([]Target, error) {
	var list []Target
	for _, word := range words(text) {
		t := Target{text: word}
		if inner, ok := strings.CutPrefix(word, "/"); ok {
			inner, closed := strings.CutSuffix(inner, "/")
			if !closed {
				return nil, fmt.Errorf("got target %q, want a / behind the regular expression", word)
			}
			re, err := regexp.Compile(`\A(?:` + inner + `)\z`)
			if err != nil {
				return nil, fmt.Errorf("got target %q: %w", word, err)
			}
			t.re = re
		} else if _, err := path.Match(word, ""); err != nil {
			return nil, fmt.Errorf("got target pattern %q: %w", word, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// words cuts a text at spaces and commas that do not stand between slashes.
func words(text string) []string {
	inside := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '/' {
			inside = !inside
		}
		return !inside && (r == ',' || r == ' ')
	})
}

// Chooses says whether the target chooses the module with that name. What AllLinear chooses depends on the
// kind of the module, too, which the caller knows.
func (t Target) Chooses(name string) bool {
	switch {
	case t.text == AllLinear:
		return name[strings.LastIndexByte(name, '.')+1:] != "lm_head"
	case t.re != nil:
		return t.re.MatchString(name)
	case name == t.text || strings.HasSuffix(name, "."+t.text):
		return true
	}
	ok, _ := path.Match(t.text, name) // Targets has checked the pattern
	return ok
}

// String is the target as it was written.
func (t Target) String() string { return t.text }

// Targeted says whether one of the targets, which are as Targets reads them, chooses the module with that
// name.
func Targeted(targets, name string) (bool, error) {
	list, err := Targets(targets)
	for _, t := range list {
		if t.Chooses(name) {
			return true, err
		}
	}
	return false, err
}
