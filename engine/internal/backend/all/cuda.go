//go:build !mcs_static

package all

import _ "github.com/mcs-notebook/mcs/engine/internal/backend/cuda" // NVIDIA's GPUs
