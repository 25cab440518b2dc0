// Package owned lets packages of the engine give memory back that they alone can know of.
//
// Memory of tensors comes back when the collector finds that nobody refers to it, because handles travel freely. An
// optimizer's moments do not: nobody else has them, and each step leaves the old ones behind. Given back at once, they
// are what the next step writes to, still in the caches.
package owned

// Discard gives the memory of an evaluated tensor.Tensor back. Whoever evaluates something that reads it afterwards gets
// an error, so it must not have been seen outside. Package tensor sets it.
var Discard func(tensor any)
