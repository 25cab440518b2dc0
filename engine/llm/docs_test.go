package llm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/gguf"
)

// docs/models.md has a row for each family that Load reads, with the number of small models that were
// compared.
func TestDocsListFamilies(t *testing.T) {
	text, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Skip("the documents are not beside the sources: ", err)
	}
	rows := map[string]int{}
	_, table, _ := strings.Cut(string(text), "| family |")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if n, err := strconv.Atoi(strings.TrimSpace(cells[len(cells)-1])); err == nil {
			name, _, _ := strings.Cut(strings.TrimSpace(cells[0]), " ")
			rows[name] = n
		}
	}
	compared := map[string]int{}
	list, err := filepath.Glob(filepath.Join(fixtures, "*", configFile))
	if err != nil {
		t.Fatal(err)
	}
	encoders, err := filepath.Glob("../embed/testdata/eurobert*/" + configFile) // which has vectors only, and no logits
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(list, encoders...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseConfig(path, text)
		if err != nil {
			t.Fatal(err)
		}
		compared[c.Family]++
	}
	for _, f := range families {
		n, ok := rows[f.Type]
		switch small := compared[f.Type]; {
		case small < 3:
			t.Errorf("%s: testdata/families has %d small models, want at least 3, which tests/peers/decoder_families.py makes of rows of MODELS", f.Type, small)
		case !ok:
			t.Errorf("%s: docs/models.md has no row, want one with %d small models", f.Type, small)
		case n != small:
			t.Errorf("%s: docs/models.md says %d small models, want the %d of testdata/families", f.Type, n, small)
		}
	}
	if said := fmt.Sprintf("of %d small models", len(list)); !strings.Contains(string(text), said) {
		t.Errorf("docs/models.md does not say %q, as many as testdata/families has", said)
	}
	for name := range rows {
		if _, ok := familyOf(name); !ok {
			t.Errorf("docs/models.md has a row of %s, which is no family", name)
		}
	}
}

// CONTRIBUTING.md lists the places of a family; this says which one a family does not have.
func TestPlacesOfAFamily(t *testing.T) {
	small, err := filepath.Glob("testdata/gguf/*")
	if err != nil {
		t.Fatal(err)
	}
	encoders, err := filepath.Glob("../embed/testdata/*.gguf")
	if err != nil {
		t.Fatal(err)
	}
	small = append(small, encoders...)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		written += strings.Count(string(text), " = family{\n\tFamily:")
	}
	if written != len(families) {
		t.Errorf("the list families has %d rows, want the %d that are written", len(families), written)
	}
	for _, f := range families {
		if f.class == "" || f.read == nil {
			t.Errorf("%s: its row has no class or read", f.Type)
		}
		if f.Architecture == "" {
			continue // folders only
		}
		if !slices.Contains(gguf.Architectures(), f.Architecture) {
			t.Errorf("%s: gguf/names.go has no names of the architecture %q", f.Type, f.Architecture)
		}
		if !slices.ContainsFunc(small, func(path string) bool {
			return strings.Contains(path, f.Architecture) || strings.HasPrefix(filepath.Base(path), f.Type)
		}) {
			t.Errorf("%s: testdata/gguf has no file of the architecture %q, which tests/peers/decoder_gguf.py makes of a name in NAMES", f.Type, f.Architecture)
		}
	}
}
