package journal

import (
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// quoted is a word of six letters or more in quotes, somewhere behind on the line.
const quoted = `[^\n]*["` + "`" + `][^"` + "`" + `\s]{6,}["` + "`" + `]`

// secrets matches signs of a text that must not be found in a file: a password or key in quotes or in an
// address, or a text in the form of a known kind of key.
var secrets = lazy.Regexp(`(?i)(passw(or)?d|passphrase|secret|credential|api_?key|access_?key|auth_?key|auth_?token|access_?token|_token)` + quoted + `|` +
	`\b(pw|pwd|pass)\b` + quoted + `|` +
	`[a-z]://[^/\s"@:]*:[^/\s"@]+@|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY|` +
	`bearer +[\w.~+/-]{8,}|\b(hf_|sk-|gh[pousr]_|github_pat_|xox[abp]-|AKIA)[A-Za-z0-9_-]{12,}`)

// Secret says whether a cell looks as if it held a secret, or begins with a blank, which is how one says so.
func Secret(cell string) bool { return strings.HasPrefix(cell, " ") || secrets().MatchString(cell) }

// masked is a text that a cell prints, without what looks like a secret.
func masked(text string) string { return secrets().ReplaceAllLiteralString(text, "…") }
