//go:build amd64 && !mcs_portable

package micro

import "embed"

// Assembly is the text that the functions of this package were assembled from.
//
//go:embed *_amd64.s
var Assembly embed.FS
