package pretrained

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// repository matches the name of a repository of a hub, which may be meant where there is no such folder.
var repository = lazy.Regexp(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

// pickles are files in which folders have weights beside safetensors, or in its place.
var pickles = []string{"pytorch_model.bin", "pytorch_model.bin.index.json", "consolidated.00.pth"}

// pickled returns an error if a folder without safetensors has its weights in files of Python's pickle, which
// run what they say when they are read.
func pickled(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, WeightsFile)); err == nil {
		return nil
	}
	for _, name := range pickles {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s: got no %s, and %s, a Python pickle, which is not read as it can run any code: load the folder with transformers, and save_pretrained writes safetensors", dir, WeightsFile, name)
		}
	}
	return nil
}

// Missing returns an error if there is no folder or file of a path. It says how to fetch a repository that is
// named so.
func Missing(path string) error {
	_, err := os.Stat(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil // an error of opening says what is wrong
	}
	err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	if repository().MatchString(path) && !strings.HasSuffix(path, ".gguf") {
		return fmt.Errorf("%w; llm.Download(ctx, %q, llm.Hub{}) fetches a repository of that name", err, path)
	}
	return err
}
