// Command gen writes docs/magics.md from the table of commands.
package main

import (
	"fmt"
	"os"

	"github.com/mcs-notebook/mcs/magics"
)

func main() {
	if err := os.WriteFile("../docs/magics.md", []byte(magics.Manual()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
