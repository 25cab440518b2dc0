package llm

import "slices"

// Keys and values stay where they are written, in slots of the layers' caches. A pool deals them out by
// pages: a text gets a page when its tokens come to it, and gives pages back that a window has passed.

// pageTokens is how many tokens a page has room for.
const pageTokens = 64

// A pool deals out the pages of the caches of all layers that see equally far.
type pool struct {
	window int   // keys that a query sees; 0: all
	most   int   // pages that a text with a window ever has; 0: no limit
	layers []int // whose caches these are
	listed int   // pages that a row of a step lists
	pages  int   // that the caches have
	free   []int // of these, which no text has; the next one comes last
	shared []int // by page, how many texts beside the first one have it
}

// held are the pages of a text in a pool, in the order of its tokens.
type held struct {
	first int // tokens before the first page
	pages []int
}

func (h held) clone() held { return held{h.first, slices.Clone(h.pages)} }

// end is how many tokens of the text have a slot, or had one.
func (h *held) end() int { return h.first + len(h.pages)*pageTokens }

// slot is where the token at a position is.
func (h *held) slot(position int) int {
	return h.pages[(position-h.first)/pageTokens]*pageTokens + position%pageTokens
}

// slots are those of the tokens up to end, from the first page on.
func (h *held) slots(end int) (list []int) {
	for position := h.first; position < end; position++ {
		list = append(list, h.slot(position))
	}
	return list
}

// drop gives back the pages of tokens that no token from position at on sees.
func (p *pool) drop(h *held, at int) {
	for p.window > 0 && len(h.pages) > 0 && h.first+pageTokens <= at-p.window+1 {
		p.giveBack(h.pages[0])
		h.pages = h.pages[1:]
		h.first += pageTokens
	}
}

// release gives back all pages.
func (p *pool) release(h *held) {
	for _, page := range h.pages {
		p.giveBack(page)
	}
	*h = held{}
}

func (p *pool) giveBack(page int) {
	if p.shared[page] > 0 {
		p.shared[page]--
	} else {
		p.free = append(p.free, page)
	}
}

// share returns the pages of the first n tokens of a text, for another one that begins so, too.
func (p *pool) share(h held, n int) held {
	s := h.clone()
	s.pages = s.pages[:max(0, min(len(s.pages), (n-h.first+pageTokens-1)/pageTokens))]
	for _, page := range s.pages {
		p.shared[page]++
	}
	return s
}

// missing is how many pages a text lacks, to have tokens up to end.
func (h *held) missing(end int) int { return max(0, (end-h.end()+pageTokens-1)/pageTokens) }

// extend gives a text its pages up to end; the pool has them.
func (p *pool) extend(h *held, end int) {
	n := h.missing(end)
	for range n {
		last := len(p.free) - 1
		h.pages = append(h.pages, p.free[last])
		p.free = p.free[:last]
	}
}

// add makes more pages known, to have so many.
func (p *pool) add(pages int) {
	fresh := make([]int, 0, pages-p.pages)
	for i := pages - 1; i >= p.pages; i-- {
		fresh = append(fresh, i)
	}
	p.free = append(fresh, p.free...)
	p.shared = append(p.shared, make([]int, pages-p.pages)...)
	p.pages = pages
}

// sees says whether the pages of a text still have all that a token at a position sees.
func (p *pool) sees(h *held, position int) bool {
	return h.first == 0 || p.window > 0 && h.first <= position-p.window+1
}
