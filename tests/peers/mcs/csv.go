package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
)

// readCSV reads a file of tables.py and says how long that took, how many rows there are, and what column x
// adds up to.
func readCSV(path string, out io.Writer) error {
	start := time.Now()
	t, err := data.ReadCSV(path)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	sum := t.Agg(data.Sum("x")).Floats("x_sum")[0]
	return json.NewEncoder(out).Encode(map[string]float64{"seconds": seconds, "rows": float64(t.Len()), "sum": sum})
}
