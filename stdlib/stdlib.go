// Package stdlib is what a cell can import: Go's standard library and the engine, as three kinds of generated data
// for each package: the interpreter's symbol table, the compiler's export data (from which go/types gets real types
// with parameter names), and documentation.
package stdlib
