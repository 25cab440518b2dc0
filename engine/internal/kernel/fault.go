package kernel

import "encoding/binary"

// FaultSize is the number of bytes of a command's fault record: the least position of an index that is out of
// range, and eight slots with a position and the value there. See shaders/fault.metal.
const FaultSize = 4 + 8*12

// noFault is the position of a record without a report.
const noFault = 0xffffffff

// ReadFault returns what a record reports. Of two bad indices whose positions share a slot, the value that is
// kept may be that of the other: then it is not known.
func ReadFault(record []byte) (position uint32, value int64, known, found bool) {
	position = binary.LittleEndian.Uint32(record)
	if position == noFault {
		return 0, 0, false, false
	}
	slot := record[4+12*(position%8):]
	value = int64(binary.LittleEndian.Uint64(slot[4:]))
	return position, value, binary.LittleEndian.Uint32(slot) == position, true
}
