package session

import (
	"go/types"
)

// typeOfKey is the type with a number.
func (s *Session) typeOfKey(key int) types.Type {
	s.keyMu.RLock()
	defer s.keyMu.RUnlock()
	return s.keyTypes[key-1]
}

// nameOf is how Go writes the type with a number.
func (s *Session) nameOf(key int) string { return goName(s.typeOfKey(key)) }

// baseOf is the number of the type that has the methods of the type with this number: its own, or what it
// points to.
func (s *Session) baseOf(key int) int {
	if p, ok := s.typeOfKey(key).(*types.Pointer); ok {
		return s.typeKey(types.Unalias(p.Elem()))
	}
	return key
}

// implements says whether a type has the methods of an interface.
func (s *Session) implements(key, iface int) bool {
	i, ok := s.typeOfKey(iface).Underlying().(*types.Interface)
	return ok && types.Implements(s.typeOfKey(key), i)
}

func (s *Session) typeKey(t types.Type) int {
	s.keyMu.Lock()
	defer s.keyMu.Unlock()
	if k, ok := s.typeKeys.At(t).(int); ok {
		return k
	}
	k := s.typeKeys.Len() + 1
	s.typeKeys.Set(t, k)
	s.keyTypes = append(s.keyTypes, t)
	return k
}
