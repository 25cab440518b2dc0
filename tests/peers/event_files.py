"""Writes a file of events with TensorBoard's own package, which Go's are held against, byte by byte; or reads one that mcs wrote.

    pip install tensorboard
    python event_files.py write FILE     # engine/train/internal/tfevents/testdata/events
    python event_files.py check FILE     # prints what TensorBoard finds in it
"""

import sys

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def write(name):
    with open(name, "wb") as file:
        records = RecordWriter(file)

        def event(wall_time, **fields):
            records.write(event_pb2.Event(wall_time=wall_time, **fields).SerializeToString(deterministic=True))

        event(1e9, file_version="brain.Event:2")
        event(1e9 + 0.5, step=300, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))
        for step, values in [(0, {"loss": 5.5}), (1, {"loss": 0.0, "rate": 2e-4}), (128, {"loss": float("inf")}), (2**40, {"größe": -1.25e-30})]:
            e = event_pb2.Event(wall_time=1e9 + min(step, 1000), step=step)
            for tag, value in values.items():
                e.summary.value.add(tag=tag, simple_value=value)
            records.write(e.SerializeToString(deterministic=True))
        records.flush()


def check(name):
    for record in RawEventFileLoader(name).Load():
        e = event_pb2.Event.FromString(record)
        if e.HasField("file_version"):
            print(e.file_version)
        if e.HasField("session_log"):
            print(e.step, "start")
        for v in e.summary.value:
            print(e.step, v.tag, v.simple_value)


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
