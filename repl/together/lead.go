package together

// lead is what a session knows of the ranks that follow it.
type lead struct{ sent bool }

func (l *lead) begin(*Cells, string) bool { return false }
func (l *lead) lost(err error) error      { return err }
