package gpu

// A Linker is a Device that can move bytes to devices of other processes: by NCCL.
type Linker interface {
	Device
	// Meet returns the name of a meeting. One process asks for it, and hands it to all; it lives until they
	// have met.
	Meet() ([]byte, error)
	// Link waits for the other processes of a meeting. Ranks are 0 … size−1.
	Link(meeting []byte, rank, size int) (Link, error)
}

// A Link moves bytes between the devices of several processes. All of them encode the same moves in the same
// order. A move waits, on the device, for those of the others.
type Link interface {
	// String is who moves the bytes: "NCCL 2.28.9".
	String() string
	// Move encodes that part r of src goes to rank r, and what comes from there to part r of dst. Parts of dst
	// follow one another, those of src begin so many bytes apart: 0 sends the same to all.
	Move(s Stream, dst, src Buffer, bytes, apart int) error
	// Err is an error that was found after a commit: a connection has broken.
	Err() error
	// Abort ends moves that are under way, which a process that is gone would let wait for ever. The link is
	// then closed. No commit with moves may be in the making.
	Abort() error
	// Close ends the link, when its moves are over.
	Close() error
}
