package backend

// A Linker is a Backend that can move memory to that of other processes without the host.
type Linker interface {
	Backend
	// Links says by what: "NCCL 2.28.9". The error says what is missing; it is errors.ErrUnsupported if
	// devices of this kind have nothing of the sort.
	Links() (string, error)
	// Meet returns the name of a meeting. One process asks for it and hands it to all.
	Meet() ([]byte, error)
	// Link waits for the other processes of a meeting. Ranks are 0 … size−1.
	Link(meeting []byte, rank, size int) (Link, error)
	// Untimed has nothing from then on chosen by its time, which another machine may measure otherwise: equal
	// devices compute in equal ways.
	Untimed()
}

// A Link moves memory between the devices of several processes. All of them make the same moves in the same
// order. A move comes in the device's order like any other work, and waits there for those of the others.
type Link interface {
	// Move sends part r of src to rank r, and puts what comes from there into part r of dst. Parts have so
	// many bytes; those of src begin so many bytes apart: 0 sends the same to all.
	Move(dst, src Slice, bytes, apart int) error
	// Err is an error that was found since: a connection has broken.
	Err() error
	// Break ends the link, because another process goes no further. If moves are under way that wait for it,
	// the device is lost, with why as the reason.
	Break(why error)
	// Close ends the link; all processes call it.
	Close() error
}
