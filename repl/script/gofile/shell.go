package gofile

import (
	"fmt"
	"go/token"
	"os/exec"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// shellLines is what a program has in place of `files := !command`.
const shellLines = `// shellLines returns the lines that a command of the shell prints. Env are variables for it, NAME=value.
func shellLines(command string, env ...string) ([]string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	text := strings.TrimSuffix(string(output), "\n")
	if text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), err
}`

// runShell makes calls of shellLines of the commands whose output is assigned.
func (p *program) runShell(units []unit) []unit {
	for i := range units {
		u := &units[i]
		left, command, ok := cell.Capture(strings.TrimSpace(u.text))
		if !ok || u.kind != cell.Command {
			continue
		}
		command, mentioned := cell.Fill(command, func(name string) bool { return p.declares(name, units[:i]) })
		call := fmt.Sprintf("%s shellLines(%q", left, command)
		for j, m := range mentioned {
			if !slices.Contains(mentioned[:j], m) {
				call += fmt.Sprintf(", %q+fmt.Sprint(%s)", m.Name+"=", m.Name)
			}
		}
		u.kind, u.text = cell.Statement, call+")"
		if !p.hasShell {
			p.hasShell = true
			p.units = append(p.units, unit{kind: cell.Declaration, text: shellLines, name: "shellLines"})
		}
	}
	return units
}

// isCommand says whether a negated name is no name of the program, but of a command: see [cell.Captures].
func (p *program) isCommand(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil && !p.declares(name, nil)
}

// declares says whether the code so far mentions a name, which it then declares.
func (p *program) declares(name string, before []unit) bool {
	for _, u := range slices.Concat(p.units, before) {
		for _, t := range cell.Scan(u.text) {
			if u.kind != cell.Command && t.Tok == token.IDENT && t.Text(u.text) == name && u.name != "shellLines" {
				return true
			}
		}
	}
	return false
}
