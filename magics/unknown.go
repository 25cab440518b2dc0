package magics

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/near"
)

// foreign maps commands of IPython to mcs's commands or to Go. $args is the text after the command; a text
// that begins with "write " ends in a line that can be pasted.
var foreign = map[string]string{
	"pwd": "write os.Getwd()", "ls": "write !ls $args", "ll": "write !ls -l $args", "cat": "write !cat $args",
	"mkdir": "write !mkdir $args", "rm": "write !rm $args", "cp": "write !cp $args", "mv": "write !mv $args", "sx": "write lines := !$args",
	"system": "write !$args", "bash": "write !$args", "sh": "write !$args", "set_env": "write %env $args", "pushd": "write %cd $args", "popd": "write %cd -", "alias_magic": "write %alias $args", "unalias": "write %alias -d $args",
	"who": "write %whos", "who_ls": "write %whos", "psearch": "write %whos", "hist": "write %history", "recall": "write %history", "rerun": "write %edit $args",
	"lsmagic": "write %help", "magic": "write %help", "quickref": "write %help", "pinfo": "write $args?", "pinfo2": "write $args??",
	"pdoc": "write $args?", "psource": "write $args??", "pdef": "write $args?", "debug": "write %tb", "xmode": "write %tb", "pdb": "write %tb",
	"prun": "write %profile $args", "lprun": "write %profile $args", "memit": "write %mem", "reset_selective": "write %del $args",
	"xdel": "write %del $args", "writefile": `write os.WriteFile("file.txt", []byte("text"), 0o644)`, "exit": "Ctrl-D leaves the notebook",
	"quit": "Ctrl-D leaves the notebook", "paste": "paste as it is: a pasted cell stays in one piece", "cpaste": "paste as it is: a pasted cell stays in one piece",
	"matplotlib": "nothing need be switched on: a cell that ends in a plot shows it, such as plot.Line(ys) or run.Plot(); %plot -images says how",
	"pylab":      "nothing need be switched on: tensors and layers are there without an import",
	"autoreload": `nothing need be switched on: import "./dir" reads a package again when its files change`,
	"load_ext":   "there are no extensions: packages are there when a name like tensor.Zeros is used",
	"pip":        "nothing need be installed: packages are there when a name like tensor.Zeros is used",
	"conda":      "nothing need be installed: packages are there when a name like tensor.Zeros is used",
	"capture":    "what a cell prints cannot be caught; a value is kept by v := expression",
	"python":     "write !python $args", "R": "cells are Go",
}

// unknown returns the error for a command that does not exist, with a suggestion.
func (t Table) unknown(name, args string) error {
	if name == "" && args != "" { // % time x
		return fmt.Errorf("%%: a command stands right behind the sign; write %%%s", args)
	}
	if name == "" {
		return fmt.Errorf("%%: got no command; %%help lists them")
	}
	if instead, ok := foreign[name]; ok {
		return fmt.Errorf("%%%s: no such command; %s", name, strings.TrimSpace(strings.ReplaceAll(instead, "$args", args)))
	}
	var names []string
	for _, m := range t.rows() {
		if isLetter(m.Name[0]) {
			names = append(names, m.Name)
		}
	}
	if best := near.Name(name, names); best != "" {
		return fmt.Errorf("%%%s: no such command; did you mean %%%s?", name, best)
	}
	return fmt.Errorf("%%%s: no such command; %%help lists them", name)
}
