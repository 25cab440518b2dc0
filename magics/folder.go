package magics

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
)

// folderMagics are about the folder, the environment and the names of commands.
func folderMagics() []*Magic {
	return []*Magic{{
		Name: "cd", Family: "System", Args: "[FOLDER | -]", Takes: TakesFolders,
		Summary: "go to another folder, from which relative paths start",
		Help: "Without a folder it goes to your own, and - goes back to the one before. Files that code opens, commands and\n" +
			`imports such as "./dir" follow; those of a .mcs file start from its folder.`,
		Example: "%cd data\n%cd -",
		run:     runCd,
	}, {
		Name: "env", Family: "System", Args: "[NAME | NAME=VALUE]", Takes: TakesEnv,
		Flags:   []Flag{{Name: "u", Kind: Switch, Help: "unset NAME"}},
		Summary: "list the variables of the environment, show one, or set one",
		Help:    "The list does not show values of names such as TOKEN, KEY or PASSWORD; %env NAME does. They are of this process and its commands.",
		Example: "%env\n%env HOME\n%env OMP_NUM_THREADS=1\n%env -u HTTP_PROXY",
		run:     runEnv,
	}, {
		Name: "alias", Family: "System", Args: "[NAME = COMMAND]", Takes: TakesFiles,
		Flags:   []Flag{{Name: "d", Kind: Switch, Help: "forget the alias NAME"}},
		Summary: "list the names for command lines, or make one",
		Help: "%NAME then runs the command with what follows it. The command begins with % or !; without either it is the shell's.\n" +
			"An alias lives as long as the session: put the line into a .mcs file to keep it.",
		Example: "%alias\n%alias ll = !ls -l\n%alias k = %kernels -diff\n%alias -d ll",
		run:     runAlias,
	}}
}

func runCd(_ context.Context, c *call) (display.Value, error) {
	dir := strings.TrimSpace(c.rest)
	if len(dir) > 1 && strings.ContainsRune("'\"`", rune(dir[0])) && dir[len(dir)-1] == dir[0] {
		dir = dir[1 : len(dir)-1]
	}
	now, err := c.s.Chdir(dir)
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	return display.Text(now), nil
}

// secretName matches names of variables whose values are not for every eye.
var secretName = lazy.Regexp(`(?i)secret|passw|passphrase|passwd|token|credential|cookie|private|signature|auth|(^|_)(api_?)?(key|pat|pwd|pass|dsn)s?($|_)|apikey|accesskey`)

// secretValue matches addresses with a password: https://user:password@host.
var secretValue = lazy.Regexp(`://[^/\s@]*:[^/\s@]+@`)

func runEnv(_ context.Context, c *call) (display.Value, error) {
	name, value, set := strings.Cut(strings.TrimSpace(c.rest), "=")
	if before, after, ok := strings.Cut(name, " "); ok && !set { // NAME value
		name, value, set = before, after, true
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case strings.ContainsAny(name, " \t"):
		return nil, c.errorf("got %q, want a name", name)
	case c.on("u") && (name == "" || set):
		return nil, c.errorf("-u: got %q, want a name", strings.TrimSpace(c.rest))
	case c.on("u"):
		return nil, os.Unsetenv(name)
	case set:
		if err := os.Setenv(name, value); err != nil {
			return nil, c.errorf("%w", err)
		}
		return nil, nil
	case name == "":
		return environment(), nil
	}
	value, ok := os.LookupEnv(name)
	if !ok {
		return nil, c.errorf("%s is not set", name)
	}
	return display.Text(value), nil
}

// environment lists the variables; values that may be secret are masked.
func environment() display.Value {
	t := display.NewTable("name", "value")
	list := os.Environ()
	slices.Sort(list)
	for _, each := range list {
		name, value, _ := strings.Cut(each[min(1, len(each)):], "=") // Windows has names that begin with =
		name = each[:min(1, len(each))] + name
		if value != "" && secretName().MatchString(name) || secretValue().MatchString(value) {
			value = "<hidden>"
		}
		t.Add(display.Cell{Text: name, Role: display.Name}, value)
	}
	return t
}

func runAlias(_ context.Context, c *call) (display.Value, error) {
	list := c.s.Aliases()
	name, text, set := strings.Cut(strings.TrimSpace(c.rest), "=")
	if before, after, ok := strings.Cut(name, " "); ok && (!set || strings.TrimSpace(after) != "") { // NAME text
		name, text, set = before, strings.TrimSpace(c.rest)[len(before):], true
	}
	name, text = strings.TrimPrefix(strings.TrimSpace(name), "%"), strings.TrimSpace(text)
	switch {
	case c.on("d"):
		if _, ok := list[name]; !ok {
			return nil, c.errorf("-d: %s is no alias", cmp.Or(name, `""`))
		}
		delete(list, name)
		return nil, nil
	case name == "":
		return aliases(list), nil
	case !set && list[name] != "":
		return display.Text("%alias " + name + " = " + list[name]), nil
	case !set:
		return nil, c.errorf("%s is no alias; usage: %s", name, c.magic.usage())
	case Lookup(name) != nil:
		return nil, c.errorf("%%%s is a command already", name)
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || !isLetter(name[0]):
		return nil, c.errorf("got the name %q, want letters, digits and _", name)
	case text == "":
		return nil, c.errorf("got no command for %s; usage: %s", name, c.magic.usage())
	}
	if text[0] != '%' && text[0] != '!' {
		text = "!" + text
	}
	list[name] = text
	return nil, nil
}

func aliases(list map[string]string) display.Value {
	if len(list) == 0 {
		return display.Text("no aliases yet")
	}
	t := display.NewTable("alias", "command")
	for _, name := range slices.Sorted(maps.Keys(list)) {
		t.Add(display.Cell{Text: "%" + name, Role: display.Name}, list[name])
	}
	return t
}

// unalias writes the command that an alias stands for in its place, as often as aliases lead to aliases. One
// that leads back to itself is left as it is.
func unalias(list map[string]string, line string) string {
	seen := map[string]bool{}
	for {
		name, args, whole := cell.ParseCommand(line)
		text, ok := list[name]
		if !ok || whole || seen[name] || Lookup(name) != nil {
			return line
		}
		seen[name] = true
		line = strings.TrimSpace(text + " " + args)
	}
}
