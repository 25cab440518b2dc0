package term

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcs-notebook/mcs/repl/term/key"
)

// editOutside edits the cell in another program.
func (e *cellEditor) editOutside() {
	var text string
	var err error
	e.external(func() { text, err = editText(e.buf.Text()) })
	if err != nil {
		e.say(err.Error())
		return
	}
	e.buf.Replace(0, len(e.buf.Text()), text)
}

// editText edits a text with the person's editor: $VISUAL, $EDITOR, or the system's default.
func editText(text string) (string, error) {
	dir, err := os.MkdirTemp("", "mcs")
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "cell.go") // the name tells the editor the language
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	words := editorCommand()
	cmd := exec.Command(words[0], append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("edit: %s: %w", words[0], err)
	}
	changed, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	return strings.TrimRight(key.Clean(string(changed)), "\n"), nil
}

// editorCommand is the person's editor, with its arguments if the variable has some.
func editorCommand() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(os.Getenv(name)); len(words) > 0 {
			return words
		}
	}
	if runtime.GOOS == "windows" {
		return []string{"notepad"}
	}
	return []string{"vi"}
}
