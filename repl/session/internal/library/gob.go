package library

import (
	"encoding/gob"
	"fmt"
	"strings"
)

// registerGob is gob.Register. The registry is the process's and for good: of two sessions, or of a cell that
// runs again with another type, the second would panic.
func registerGob(value any) {
	if !registered(func() { gob.Register(value) }) {
		registerGobAs(fmt.Sprintf("%T", value), value)
	}
}

// registerGobAs is gob.RegisterName. A name stays its first type's: one of another session,
// or one that was declared again, is NAME·2, NAME·3, and so on, in what is encoded.
func registerGobAs(name string, value any) {
	for n, as := 2, name; !registered(func() { gob.RegisterName(as, value) }); n++ {
		as = fmt.Sprintf("%s·%d", name, n)
	}
}

// registered calls f and says whether the name that it registers was no other type's.
func registered(f func()) (ok bool) {
	defer func() {
		p := recover()
		if ok = p == nil; !ok && !strings.HasPrefix(fmt.Sprint(p), "gob: registering duplicate types") {
			panic(p)
		}
	}()
	f()
	return true
}
