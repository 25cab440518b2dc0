// Package magics is the one table of commands that are not Go: %time, %kernels, %whos, !command, name?.
//
// A magic is a row: name, kind, flags, one line of help, long help, run. Help, completion and docs/magics.md are made
// from the table. A magic knows the session and the engine, never the terminal: it returns a display.Value.
package magics
