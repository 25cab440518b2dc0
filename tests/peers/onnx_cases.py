"""Writes ONNX's node cases, as Python's onnx makes them, into a zip for tests/conformance: onnx_cases.py FILE."""
import sys
import zipfile

from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

SPECIAL = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional}


def message(value, info):
    """A value of an input or output as ONNX writes it into a file."""
    if isinstance(value, TensorProto):
        return value
    return SPECIAL.get(info.type.WhichOneof("value"), numpy_helper.from_array)(value, info.name)


def main():
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as out:
        for case in collect_testcases():
            out.writestr(f"{case.name}/model.onnx", case.model.SerializeToString())
            for i, data in enumerate(case.data_sets):
                for kind, values, infos in zip(("input", "output"), data, (case.model.graph.input, case.model.graph.output)):
                    for k, (value, info) in enumerate(zip(values, infos)):
                        out.writestr(f"{case.name}/test_data_set_{i}/{kind}_{k}.pb", message(value, info).SerializeToString())


if __name__ == "__main__":
    main()
