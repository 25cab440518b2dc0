"""Writes the public names of PyTorch, NumPy and MLX, a module a line.

    python public_names.py > ../../repl/session/internal/help/elsewhere/names.txt

The packages are read, not run: their stubs are in each wheel, so one for another system, unpacked into PYTHONPATH, does as well."""
import ast
import importlib.util
import pathlib

# A module's names are those of files, or of a class in one of them.
FILES = {
    "torch": ["_C/_VariableFunctions.pyi", "functional.py", "serialization.py", "_compile.py", "__init__.py"],
    "torch.nn": ["nn/modules/__init__.py", "nn/parameter.pyi"],
    "torch.nn.functional": ["nn/functional.py", "nn/functional.pyi"],
    "torch.nn.init": ["nn/init.py"],
    "torch.nn.Module": ["nn/modules/module.py:Module"],
    "torch.nn.utils": ["nn/utils/__init__.py"],
    "torch.optim": ["optim/__init__.py"],
    "torch.optim.Optimizer": ["optim/optimizer.py:Optimizer"],
    "torch.optim.lr_scheduler": ["optim/lr_scheduler.py"],
    "torch.utils.data": ["utils/data/__init__.py"],
    "torch.linalg": ["linalg/__init__.py"],
    "torch.fft": ["fft/__init__.py"],
    "torch.Tensor": ["_C/__init__.pyi:TensorBase", "_tensor.py:Tensor"],
    "mlx.core": ["core/__init__.pyi"],
    "mlx.nn": ["nn/layers/__init__.py", "nn/utils.py", "nn/losses.py", "nn/init.py"],
    "mlx.nn.Module": ["nn/layers/base.py:Module"],
    "mlx.optimizers": ["optimizers/optimizers.py", "optimizers/schedulers.py"],
    "numpy": ["__init__.pyi"],
    "numpy.random": ["random/__init__.pyi"],
    "numpy.linalg": ["linalg/__init__.pyi"],
    "numpy.fft": ["fft/__init__.pyi"],
    "numpy.ndarray": ["__init__.pyi:ndarray", "__init__.pyi:_ArrayOrScalarCommon"],
}
SPELT = {
    "torch": ["device", "dtype", "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "float", "double",
              "half", "long", "int", "bool", "no_grad", "enable_grad", "manual_seed", "inference_mode", "inf", "nan", "pi", "e", "newaxis",
              "nn", "optim", "utils", "linalg", "cuda", "autograd", "backends", "distributed", "jit", "fft", "special", "sparse"],
}


def names(body, package):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").startswith(package):
                yield from (a.asname or a.name for a in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id


def listed(path, within, package):
    """The names of a file: those of its __all__ if it has one, else all that it declares."""
    tree = ast.parse(path.read_text())
    if within:
        return set(names(next(c for c in tree.body if isinstance(c, ast.ClassDef) and c.name == within).body, package))
    found = set()
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if getattr(target, "id", "") == "__all__" and isinstance(node.value, ast.List):
            found |= {e.value for e in node.value.elts if isinstance(e, ast.Constant)}
    return found or set(names(tree.body, package))


for module, files in FILES.items():
    package = module.split(".")[0]
    home = pathlib.Path(list(importlib.util.find_spec(package).submodule_search_locations)[0])
    found = set(SPELT.get(module, []))
    for entry in files:
        file, _, within = entry.partition(":")
        if (home / file).exists():
            found |= listed(home / file, within, package)
    print(f"{module}:", *sorted(n for n in found if not n.startswith("_") and n != "annotations"))
