package stdlib

import (
	"go/types"
	"math/rand/v2"
	"sync"
	"testing"
)

// Sessions check cells beside each other with the types of one importer, each in its own order. The race
// detector sees whether what one reads is still written for another.
func TestImporterServesSeveral(t *testing.T) {
	im := newImporter()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			paths := Paths()
			rand.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
			for _, path := range paths {
				pkg, err := im.Import(path)
				if err != nil {
					t.Error(err)
					return
				}
				for _, name := range pkg.Scope().Names() {
					reach(pkg.Scope().Lookup(name))
				}
			}
		})
	}
	all.Wait()
}

// reach looks at an object as a check does, and at the types of its methods' parameters, whose packages may
// not have been asked for.
func reach(o types.Object) {
	_ = types.ObjectString(o, nil)
	i, _ := o.Type().Underlying().(*types.Interface)
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		for v := range m.Obj().Type().(*types.Signature).Params().Variables() {
			n, ok := v.Type().(*types.Named)
			if !ok {
				continue
			}
			_ = types.AssignableTo(n, o.Type())
			_ = n.NumMethods()
			if i != nil {
				_ = types.Implements(n, i)
			}
		}
	}
}
