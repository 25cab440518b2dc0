package ranks

// pieces is a link whose calls have at most so many bytes for each rank.
type pieces struct {
	Link
	most int
}

// Exchange makes the exchange of one part after the other.
func (p pieces) Exchange(dst, src []byte) error {
	size := p.Size()
	part := len(src) / size
	if part <= p.most {
		return p.Link.Exchange(dst, src)
	}
	return p.each(part, func(from, n int) error {
		out, in := make([]byte, n*size), make([]byte, n*size)
		for r := range size {
			copy(out[r*n:], src[r*part+from:][:n])
		}
		err := p.Link.Exchange(in, out)
		for r := range size {
			copy(dst[r*part+from:], in[r*n:][:n])
		}
		return err
	})
}

// Gather gathers one part after the other.
func (p pieces) Gather(dst, src []byte) error {
	if len(src) <= p.most {
		return p.Link.Gather(dst, src)
	}
	return p.each(len(src), func(from, n int) error {
		in := make([]byte, n*p.Size())
		err := p.Link.Gather(in, src[from:][:n])
		for r := range p.Size() {
			copy(dst[r*len(src)+from:], in[r*n:][:n])
		}
		return err
	})
}

func (p pieces) each(part int, f func(from, n int) error) error {
	for from := 0; from < part; from += p.most {
		if err := f(from, min(p.most, part-from)); err != nil {
			return err
		}
	}
	return nil
}
