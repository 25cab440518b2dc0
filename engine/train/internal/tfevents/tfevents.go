// Package tfevents writes files of events, from which TensorBoard draws curves: scalars by step.
//
// A file is a list of records: the length (u64, little endian), its checksum, the data, their checksum. The
// checksum is CRC-32C, masked: https://www.tensorflow.org/tutorials/load_data/tfrecord. The data are an Event
// of https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto in protobuf's
// encoding, of which only what scalars need is written.
package tfevents

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"time"
)

// A Scalar is a number with the name of its curve.
type Scalar struct {
	Tag   string
	Value float64 // written as f32
}

// A Writer appends to one file of events.
type Writer struct {
	file *os.File
}

// Create makes a new file in a folder, which it makes if need be. A folder may have several: TensorBoard
// shows them as one run. If first is above 0, the curves of earlier files end before that step: what they
// have from there on is of a run that went back.
func Create(dir string, first int) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	now := time.Now()
	var file *os.File
	for n := 0; ; n++ { // the names sort by time
		name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", now.Unix(), filepath.Base(host), os.Getpid(), n)
		if file, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); !os.IsExist(err) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	w := &Writer{file}
	if err = w.write(now, 0, func(b []byte) []byte { return bytesField(b, 3, []byte("brain.Event:2")) }); err == nil && first > 0 {
		err = w.Restart(now, first)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return w, nil
}

// Restart says that the run goes on with step first: what was written for it and later steps is dropped.
func (w *Writer) Restart(at time.Time, first int) error {
	const start = 1
	return w.write(at, first, func(b []byte) []byte { return bytesField(b, 7, varintField(nil, 1, start)) })
}

// Add writes the scalars of a step.
func (w *Writer) Add(at time.Time, step int, scalars ...Scalar) error {
	return w.write(at, step, func(b []byte) []byte {
		var summary []byte
		for _, s := range scalars {
			value := bytesField(nil, 1, []byte(s.Tag))
			value = binary.LittleEndian.AppendUint32(append(value, 2<<3|5), math.Float32bits(float32(s.Value)))
			summary = bytesField(summary, 1, value)
		}
		return bytesField(b, 5, summary)
	})
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// write appends an event with the fields that add appends.
func (w *Writer) write(at time.Time, step int, add func(b []byte) []byte) error {
	event := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(float64(at.UnixNano())/1e9))
	if step != 0 {
		event = varintField(event, 2, uint64(step))
	}
	event = add(event)
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(event))) // lengths and checksums stand around it
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	_, err := w.file.Write(binary.LittleEndian.AppendUint32(append(b, event...), masked(event)))
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is a checksum that differs from that of data in which it stands itself.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// varintField appends a field that is a whole number.
func varintField(b []byte, field int, x uint64) []byte {
	return binary.AppendUvarint(append(b, byte(field<<3)), x)
}

// bytesField appends a field that is bytes, a text or a message.
func bytesField(b []byte, field int, data []byte) []byte {
	b = binary.AppendUvarint(append(b, byte(field<<3|2)), uint64(len(data)))
	return append(b, data...)
}
