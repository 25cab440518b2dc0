package llm

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// states deals out the places of texts in the caches of recurrent layers. A state is that of a text as far as
// it is known, and cannot be taken back: a text that goes back is read again.
type states struct {
	layers []int
	seats  int   // that the caches have
	free   []int // of these, counted from 1
}

// full says whether the caches would have to grow for one more text.
func (s *states) full() bool { return s.layers != nil && len(s.free) == 0 }

// add makes more seats known, to have so many.
func (s *states) add(seats int) {
	for i := seats; i > s.seats; i-- {
		s.free = append(s.free, i)
	}
	s.seats = seats
}

// allotStates makes caches for the states of so many texts.
func (s *memory) allotStates(texts int) {
	if s.states.layers == nil {
		return
	}
	s.states.add(texts)
	for _, i := range s.states.layers {
		s.caches[i].States = s.m.Blocks[i].Recurrent.NewStates(texts).States
	}
}

// seats are the places of the rows of a step in the caches of states. A text gets one with its first step.
func (s *memory) seats(rows []*text) (list []int) {
	if s.states.layers == nil {
		return nil
	}
	for _, t := range rows {
		if t.seat == 0 {
			if s.states.full() {
				s.growStates(2 * s.states.seats)
			}
			last := len(s.states.free) - 1
			t.seat, s.states.free = s.states.free[last], s.states.free[:last]
		}
		list = append(list, t.seat-1)
	}
	return list
}

// growStates makes room for the states of so many texts.
func (s *memory) growStates(texts int) {
	more := texts - s.states.seats
	s.states.add(texts)
	for _, i := range s.states.layers {
		fresh := s.m.Blocks[i].Recurrent.NewStates(more).States
		for k, old := range s.caches[i].States {
			s.caches[i].States[k] = tensor.Concat([]tensor.Tensor{old, fresh[k]}, 0).Eval()
			tensor.Free(old, fresh[k])
		}
	}
}

// leave gives the seat of a text to others.
func (s *memory) leave(t *text) {
	if t.seat > 0 {
		s.states.free = append(s.states.free, t.seat)
	}
	t.seat = 0
}

// goBack lets a text be known for its first n tokens only; nothing of it, where states know more.
func (s *memory) goBack(t *text, n int) {
	if n == 0 || s.states.layers != nil && n < t.known {
		s.forget(t)
		return
	}
	t.known = n
}

// recurrent are the layers of a model that keep a state.
func (m *Model) recurrent() (list []nn.Recurrent) {
	for _, b := range m.Blocks {
		if b.Recurrent != nil {
			list = append(list, b.Recurrent)
		}
	}
	return list
}

// refusesPrefix says why a model keeps no beginnings of prompts.
func (m *Model) refusesPrefix() error {
	if m.recurrent() == nil {
		return nil
	}
	return fmt.Errorf("generate: got a prefix for a model of %s, whose layers have a state that is kept for one text only; want prompts without one", m.Config.Family)
}

// refusesDraft says why no draft guesses for a model, or is one.
func (m *Model) refusesDraft() error {
	if m.recurrent() == nil {
		return nil
	}
	return fmt.Errorf("generate: got a draft beside a model of %s, whose layers have a state from which a wrong guess cannot be taken back; want no draft", m.Config.Family)
}
