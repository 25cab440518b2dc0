package wrap

import (
	"errors"
	"io/fs"
	"testing"
)

func TestError(t *testing.T) {
	open := func(fails error) (err error) {
		defer Error(&err, "data: open")
		return fails
	}
	if err := open(nil); err != nil {
		t.Errorf("got %v, want none", err)
	}
	if err := open(fs.ErrNotExist); !errors.Is(err, fs.ErrNotExist) || err.Error() != "data: open: file does not exist" {
		t.Errorf("got %v, want the operation before it", err)
	}
}
