package pretrained

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/durable"
)

// WriteFolder writes a folder of files, by their paths in it, and of weights. Readers find the old folder or
// the whole new one.
func WriteFolder(dir string, files map[string][]byte, weights func(f *durable.Folder) error) error {
	f, err := durable.NewFolder(dir)
	if err != nil {
		return err
	}
	defer f.Drop()
	if err := weights(f); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path(name)), 0o777); err != nil {
			return err
		}
		if err := f.WriteFile(name, durable.Text(string(content))); err != nil {
			return err
		}
	}
	return f.Commit()
}

// dtypes are the names that folders have for the types of matrices.
var dtypes = map[string]dtype.Type{"float32": dtype.F32, "bfloat16": dtype.BF16, "float16": dtype.F16}

// Changed returns a file of settings with other values; nil is the empty object.
func Changed(text []byte, change func(keys map[string]any)) ([]byte, error) {
	keys := map[string]any{}
	if text != nil {
		d := json.NewDecoder(bytes.NewReader(finite(text)))
		d.UseNumber()
		if err := d.Decode(&keys); err != nil {
			return nil, err
		}
	}
	change(keys)
	return json.MarshalIndent(keys, "", "  ")
}

// SetDType says in which type the matrices are, by the key that the settings have for it.
func SetDType(keys map[string]any, dt dtype.Type) {
	key := "torch_dtype"
	if _, ok := keys["dtype"]; ok {
		key = "dtype"
	}
	for name, of := range dtypes {
		if of == dt {
			keys[key] = name
		}
	}
}
