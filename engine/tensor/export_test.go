package tensor

// LedgerNodes returns how many nodes a ledger holds.
func LedgerNodes(l *Ledger) int { return l.record.Held() }
