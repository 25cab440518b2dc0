package typeface_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/plot"
	_ "github.com/mcs-notebook/mcs/engine/plot/typeface"
)

// A program that computes with tensors needs no reader of fonts.
func TestTensorsNeedNoFonts(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/mcs-notebook/mcs/engine/tensor").Output()
	if err != nil {
		t.Skip(err)
	}
	for _, path := range []string{"golang.org/x/image/font/opentype", "golang.org/x/image/font/gofont/goregular"} {
		if strings.Contains(string(out), path) {
			t.Errorf("engine/tensor needs %s", path)
		}
	}
}

// With the package pictures have letters.
func TestPicturesHaveLetters(t *testing.T) {
	p := plot.Line([]int{1, 2})
	size := func() []byte { return p.Render(200, 100, 1, "light").Pix }
	if without := size(); bytes.Equal(without, func() []byte { p.Labels("epochs", ""); return size() }()) {
		t.Error("a label changes no pixel")
	}
	if err := plot.Line([]int{1}).Save(t.TempDir() + string(os.PathSeparator) + "a.png"); err != nil {
		t.Error(err)
	}
}
