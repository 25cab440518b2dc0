//go:build (!amd64 && !arm64) || mcs_portable

package micro

func integerDot() bool { return false }

func digitsVector(*byte, *float32, int) bool { return false }

func (q *Quant) multiplyDigits(*QuantInput, int, int, int, int, *float32, int) {}

func (q *Quant) multiplyVector(*float32, int, *float32) bool { return false }

func (q *Quant) dequantizeVector(int, int, int, int, int, *float32, int) bool { return false }

func (q *Quant) multiplySumsVector(*float32, int, *float32) bool { return false }
