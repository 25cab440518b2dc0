package term

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/journal"
)

// historyLimit is how many cells can be recalled; the file may hold half as many more before it is cut.
const historyLimit = 10_000

// historyBytes is how much of the file's end is read.
const historyBytes = 256 << 20

// lockPatience is how long one notebook waits for another to write: it may have been stopped in the middle.
const lockPatience = 3 * time.Second

// A historyFile keeps the cells of all sessions, one JSON string a line, so that cells of several lines stay
// whole. Several notebooks may use it at once: a file beside it is locked while one of them writes.
type historyFile struct{ path string }

// load gives the newest cells, the oldest of them first. A file that is not there is an empty history; a
// damaged line is left out.
func (h historyFile) load() ([]string, error) {
	cells, lines, err := h.read()
	if err != nil || lines <= historyLimit*3/2 {
		return cells, err
	}
	lock, err := durable.WaitLock(context.Background(), h.path+".lock", lockPatience)
	if err != nil { // it can be cut another time
		return cells, nil
	}
	defer lock.Unlock()
	if cells, _, err = h.read(); err != nil { // another notebook may have written meanwhile
		return cells, err
	}
	return cells, h.rewrite(cells)
}

func (h historyFile) read() (cells []string, lines int, err error) {
	f, err := regular.Open(h.path)
	if os.IsNotExist(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	if stat, err := f.Stat(); err == nil && stat.Size() > historyBytes {
		f.Seek(-historyBytes, io.SeekEnd) // the line that it cuts is damaged, and left out
	}
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if cell, ok := historyCell(line); ok {
			cells = remember(cells, cell)
		}
		if err != nil { // the end, or as far as the file can be read
			return cells, lines, nil
		}
		lines++
	}
}

// remember appends a cell to a history; a cell that is run again at once is kept once.
func remember(cells []string, cell string) []string {
	if strings.TrimSpace(cell) == "" || len(cells) > 0 && cells[len(cells)-1] == cell {
		return cells
	}
	cells = append(cells, cell)
	return cells[max(0, len(cells)-historyLimit):]
}

// add appends a cell to the file, unless it holds a secret.
func (h historyFile) add(cell string) error {
	if journal.Secret(cell) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if stat, err := os.Stat(h.path); err == nil && !stat.Mode().IsRegular() {
		return fmt.Errorf("history: %s is a %s, want a regular file", h.path, regular.Kind(stat.Mode()))
	}
	// Without the lock, appending is still one write, which only meets another notebook that cuts the file.
	lock, _ := durable.WaitLock(context.Background(), h.path+".lock", lockPatience)
	defer lock.Unlock()
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	line := historyLine(cell)
	if !endsInNewline(f) { // a crash, or a full disk, left half a line
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

func endsInNewline(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err != nil || last[0] == '\n'
}

func historyLine(cell string) []byte {
	line, _ := json.Marshal(cell) // a string can always be marshalled
	return append(line, '\n')
}

// historyCell reads a line of historyLine. For the strings that json.Marshal writes, strconv.Unquote gives
// the same result in a tenth of the time, and every start reads the whole history.
func historyCell(line []byte) (cell string, ok bool) {
	text := strings.TrimRight(string(line), "\r\n")
	if !strings.HasPrefix(text, `"`) {
		return "", false
	}
	cell, err := strconv.Unquote(text)
	if err != nil {
		err = json.Unmarshal(line, &cell)
	}
	return cell, err == nil
}

// rewrite replaces the file by the cells.
func (h historyFile) rewrite(cells []string) error {
	err := durable.Writer{Perm: 0o600}.WriteFile(h.path, func(w io.Writer) error {
		for _, cell := range cells {
			if _, err := w.Write(historyLine(cell)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}
