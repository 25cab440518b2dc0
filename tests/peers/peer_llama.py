"""llama.cpp's side of the comparison, through its Python package: decoding from GGUF files."""
import numpy as np

import llama_cpp
from inputs import Absent, words


class Llama:
    version = llama_cpp.__version__

    def __init__(self, threads):
        self.threads = threads

    def prepare(self, w):
        if w["kind"] != "gguf":
            raise Absent("no " + w["kind"])
        m = llama_cpp.Llama(w["file"], n_ctx=256, n_batch=256, n_threads=self.threads, n_threads_batch=self.threads, verbose=False)
        prompt = [int(i) for i in words(1, w["prompt"], w["vocab"])]

        def run():
            """Each best token comes from the scores as llama.cpp keeps them: no copy, no sampler."""
            m.reset()
            ids, count = prompt, 0
            while count < w["tokens"]:
                m.eval(ids)
                scores = llama_cpp.llama_get_logits_ith(m.ctx, -1)
                ids, count = [int(np.argmax(np.ctypeslib.as_array(scores, (w["vocab"],))))], count + 1
            return [np.array([count], np.float32)]
        return run

    def wait(self, outputs):
        pass

    def numpy(self, outputs):
        return outputs
