package term

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// historyLimit is how many cells can be recalled; the file may hold twice as many before it is cut.
const historyLimit = 1000

// A historyFile keeps the cells of all sessions, one JSON string a line, so that cells of several lines stay whole.
type historyFile struct{ path string }

// defaultHistory is the history's place in the user's configuration folder.
func defaultHistory() (historyFile, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return historyFile{}, fmt.Errorf("history: %w", err)
	}
	return historyFile{filepath.Join(dir, "mcs", "history")}, nil
}

// load gives the newest cells, the oldest of them first. A file that is not there is an empty history; a damaged line is
// left out.
func (h historyFile) load() ([]string, error) {
	f, err := os.Open(h.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	var cells []string
	lines := 0
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for ; in.Scan(); lines++ {
		var cell string
		if json.Unmarshal(in.Bytes(), &cell) == nil {
			cells = remember(cells, cell)
		}
	}
	if err := in.Err(); err != nil {
		return cells, fmt.Errorf("history: %s: %w", h.path, err)
	}
	if lines > 2*historyLimit {
		return cells, h.rewrite(cells)
	}
	return cells, nil
}

// remember appends a cell to a history; a cell that is run again at once is kept once.
func remember(cells []string, cell string) []string {
	if strings.TrimSpace(cell) == "" || len(cells) > 0 && cells[len(cells)-1] == cell {
		return cells
	}
	cells = append(cells, cell)
	return cells[max(0, len(cells)-historyLimit):]
}

// add appends a cell to the file. One write a cell: several sessions may share the file.
func (h historyFile) add(cell string) error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	_, err = f.Write(historyLine(cell))
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

func historyLine(cell string) []byte {
	line, _ := json.Marshal(cell) // a string can always be marshalled
	return append(line, '\n')
}

// rewrite replaces the file by the cells.
func (h historyFile) rewrite(cells []string) error {
	f, err := os.CreateTemp(filepath.Dir(h.path), "history*")
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer os.Remove(f.Name())
	for _, cell := range cells {
		if _, err = f.Write(historyLine(cell)); err != nil {
			break
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}
