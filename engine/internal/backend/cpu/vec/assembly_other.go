//go:build (!amd64 && !arm64) || mcs_portable

package vec

import "embed"

// Assembly is empty: the functions are plain Go.
var Assembly embed.FS
