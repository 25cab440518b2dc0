package pretrained

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// repository matches the name of a repository of a hub, which may be meant where there is no such folder.
var repository = lazy.Regexp(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

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
