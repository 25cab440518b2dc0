package events

import (
	"context"
	"slices"
)

// Pause keeps what is done until resume is called from the innermost record of ctx that traces, and from
// those within it: they count it neither as theirs nor as that of others. Records around them are told of it.
func Pause(ctx context.Context) (resume func()) {
	inner, ok := ctx.Value(key).(*Record)
	if !ok {
		return func() {}
	}
	list := inner.within.list
	n := 1 + slices.IndexFunc(list, func(r *Record) bool { return r.with&Trace != 0 })
	around := recordsOf(list[n:]...)
	noted := int32(0)
	for _, r := range list[:n] {
		r.paused.Store(around)
		if r.with&Nodes != 0 {
			noted++
		}
	}
	noting.Add(-noted)
	began, before := Now(), Total()
	return func() {
		took, launches := Now()-began, int(Total()-before)
		noting.Add(noted)
		for _, r := range list[:n] {
			r.mu.Lock()
			r.counts.Apart += launches
			r.counts.ApartTook += took
			r.mu.Unlock()
			r.paused.Store(nil)
		}
	}
}
