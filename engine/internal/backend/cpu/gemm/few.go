package gemm

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"

func (p *Product) few() bool                          { return false }
func (p *Product) fewScratch() int                    { return 0 }
func (p *Product) runFew(workers *pool.Pool, c *Call) {}
