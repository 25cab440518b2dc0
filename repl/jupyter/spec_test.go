package jupyter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstall(t *testing.T) {
	data := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // again is an update
		if _, err := Install(data, "mcs", program); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Install(data, "gone", filepath.Join(data, "no", "mcs")); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(data, "kernels", "python3")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "kernel.json"), []byte(`{"argv": ["python", "-m", "ipykernel"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	list := List([]string{filepath.Join(data, "nothing"), data})
	if len(list) != 2 || list[0].Name != "gone" || !list[0].Missing || list[1].Name != "mcs" || list[1].Missing || list[1].Program != program {
		t.Errorf("got %v", list)
	}
	for _, c := range []struct{ name, err string }{{"python3", "no kernel of mcs"}, {"../x", "want letters"}, {"", "want letters"}, {"..", "want letters"}} {
		for what, do := range map[string]func() (string, error){
			"install": func() (string, error) { return Install(data, c.name, program) },
			"remove":  func() (string, error) { return Remove(data, c.name) },
		} {
			if _, err := do(); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %q: got %v, want %s", what, c.name, err, c.err)
			}
		}
	}
	if _, err := Remove(data, "mcs"); err != nil {
		t.Error(err)
	}
	if _, err := Remove(data, "mcs"); err == nil || !strings.Contains(err.Error(), "there is no kernel") {
		t.Errorf("got %v", err)
	}
}
