package plot

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/plot/internal/letters"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// File is the plot as the contents of a file whose name ends in .svg or .png. Another ending is an error.
func (p *Plot) File(name string) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg":
		return []byte(p.SVG()), nil
	case ".png":
		if letters.Face == nil {
			return nil, fmt.Errorf("%s: %s", name, noTypeface)
		}
		return p.PNG(), nil
	}
	return nil, fmt.Errorf("%s: want a name that ends in .svg or .png", name)
}

// Save writes the plot to a file whose name ends in .svg or .png. A file of this name is replaced.
func (p *Plot) Save(name string) (err error) {
	defer wrap.Error(&err, "plot: save")
	data, err := p.File(name)
	if err != nil {
		return err
	}
	return durable.WriteFile(name, durable.Text(string(data)))
}
