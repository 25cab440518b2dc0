"""Runs jupyter_kernel_test against the kernel, and what it does not ask: interrupts, stdin, CURVE, a second client,
whole notebooks.

    python tests/peers/jupyter_kernel.py PATH_OF_MCS [NAME.mcs | all]

It needs jupyter_kernel_test, nbclient and nbconvert of PyPI. It installs the kernel into a folder that it removes. The
examples that are named run as notebooks, too.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

DATA = tempfile.TemporaryDirectory()
os.environ["JUPYTER_PATH"] = os.path.join(DATA.name, "share", "jupyter")

import jupyter_kernel_test
import nbconvert
import nbformat
from jupyter_client.manager import KernelManager, start_new_kernel
from jupyter_kernel_test.msgspec_v5 import validate_message
from nbclient import NotebookClient

NAME = "mcs-tested"
PLOT = "plot.Line([]float64{1, 2, 4})"


class KernelTests(jupyter_kernel_test.KernelTests):
    kernel_name = NAME
    language_name = "go"
    file_extension = ".mcs"
    code_hello_world = 'fmt.Println("hello, world")'
    code_stderr = 'fmt.Fprintln(os.Stderr, "oops")'
    completion_samples = [
        {"text": "tensor.Rang", "matches": {"Range"}},
        {"text": "%timei", "matches": {"timeit"}},
        {"text": "é := 1; strings.HasPre", "matches": {"HasPrefix"}},
    ]
    complete_code_samples = ["x := 1", "func f() int {\n\treturn 1\n}", "%help", "for i := range 3 {\n\tfmt.Println(i)\n}"]
    incomplete_code_samples = ["func f() {", "x := (1 +", "s := `raw"]
    invalid_code_samples = ["x := 1)", 's := "no end']
    code_page_something = "strings.Cut?"
    code_generate_error = 'panic("no")'
    code_execute_result = [
        {"code": "6*7", "result": "42"},
        {"code": "tensor.Range(6).Reshape(2, 3)", "mime": "text/html"},
        {"code": "[]struct{ A, B int }{{1, 2}, {3, 4}}", "mime": "text/html"},
        {"code": PLOT, "mime": "image/svg+xml"},
        {"code": PLOT, "mime": "image/png"},
    ]
    code_display_data = [{"code": "whom := 1\n%whos\n1;", "mime": "text/html"}, {"code": "%plot []float64{1, 2, 4}\n1;", "mime": "image/png"}]
    code_history_pattern = "6?7"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "strings.Cut"
    code_clear_output = r'fmt.Print("a\x1b[H\x1b[2Jb")'


class WelcomeTests(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = NAME
    support_iopub_welcome = True


class FurtherTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc = start_new_kernel(kernel_name=NAME)

    @classmethod
    def tearDownClass(cls):
        cls.kc.stop_channels()
        cls.km.shutdown_kernel()

    def run_cell(self, code, **more):
        got = []
        reply = self.kc.execute_interactive(code, output_hook=got.append, timeout=60, **more)
        for m in got:
            validate_message(m, m["msg_type"])
        validate_message(reply, "execute_reply")
        return reply["content"], got

    def interrupted(self, press):
        msg = self.kc.execute("steps := 0\nfor {\n\tif steps++; steps == 1 {\n\t\tfmt.Println(`begun`)\n\t}\n\ttime.Sleep(time.Millisecond)\n}")
        while self.kc.get_iopub_msg(timeout=60)["msg_type"] != "stream":
            pass
        press()
        reply = self.kc.get_shell_msg(timeout=20)
        self.assertEqual(reply["parent_header"]["msg_id"], msg)
        self.assertEqual(reply["content"]["ename"], "interrupted")
        content, got = self.run_cell("steps > 0")
        self.assertEqual([m["content"]["data"]["text/plain"] for m in got if m["msg_type"] == "execute_result"], ["true"])

    def test_interrupt_by_message(self):
        self.interrupted(self.km.interrupt_kernel)

    def test_interrupt_by_signal(self):
        self.interrupted(lambda: self.km.signal_kernel(2))

    def test_input(self):
        asked = []

        def answer(msg):
            asked.append(msg)
            self.kc.input("Ada")

        content, got = self.run_cell('var name string; fmt.Scanln(&name); fmt.Println("hi", name)', stdin_hook=answer, allow_stdin=True)
        self.assertEqual(len(asked), 1)
        self.assertIn("hi Ada", "".join(m["content"]["text"] for m in got if m["msg_type"] == "stream"))

    def test_expressions(self):
        content, _ = self.run_cell("a := 20", user_expressions={"twice": "2*a", "none": "b"})
        self.assertEqual(content["user_expressions"]["twice"]["data"]["text/plain"], "40")
        self.assertEqual(content["user_expressions"]["none"]["status"], "error")

    def test_silent(self):
        msg = self.kc.execute("fmt.Println(1); 2", silent=True)
        self.assertEqual(self.kc.get_shell_msg(timeout=20)["content"]["status"], "ok")
        kinds = []
        while True:
            m = self.kc.get_iopub_msg(timeout=5)
            if m["parent_header"].get("msg_id") != msg:
                continue
            kinds.append(m["msg_type"])
            if m["content"].get("execution_state") == "idle":
                break
        self.assertEqual(kinds, ["status", "status"])

    def test_stop_on_error(self):
        ids = [self.kc.execute(code) for code in ['panic("stop")', 'fmt.Println("never")', "1"]]
        replies = {}
        while len(replies) < 3:
            m = self.kc.get_shell_msg(timeout=20)
            replies[m["parent_header"]["msg_id"]] = m["content"]["status"]
        self.assertEqual([replies[i] for i in ids], ["error", "aborted", "aborted"])

    def test_flood(self):
        content, got = self.run_cell('for i := range 500_000 { fmt.Println("line", i) }')
        self.assertLess(len(got), 500)
        self.assertLess(sum(len(m["content"]["text"]) for m in got if m["msg_type"] == "stream"), 5 << 20)

    def test_live_line(self):
        content, got = self.run_cell("for i := range 400 { progress.Report(ctx, progress.Event{Task: \"work\", Done: int64(i), Total: 400}); time.Sleep(2*time.Millisecond) }")
        kinds = [m["msg_type"] for m in got]
        self.assertEqual(content["status"], "ok", got)
        self.assertEqual(kinds.count("display_data"), 1, kinds)
        self.assertLess(kinds.count("update_display_data"), 30)

    def test_debug_is_refused(self):
        msg = self.kc.session.msg("debug_request", {"type": "request", "seq": 7, "command": "initialize"})
        self.kc.control_channel.send(msg)
        reply = self.kc.get_control_msg(timeout=10)["content"]
        self.assertEqual((reply["request_seq"], reply["success"]), (7, False))

    def test_second_client(self):
        other = self.km.client()
        other.start_channels()
        other.wait_for_ready(timeout=20)
        self.run_cell("shared := 5")
        reply = other.execute_interactive("shared+1", timeout=20, output_hook=lambda m: None)
        self.assertEqual(reply["content"]["status"], "ok")
        other.stop_channels()

    def test_taken_ports(self):
        second = subprocess.run([sys.argv[1], "jupyter", "run", self.km.connection_file], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("taken", second.stderr)

    def test_restart(self):
        km, kc = start_new_kernel(kernel_name=NAME)
        kc.execute_interactive("before := 1", timeout=20, output_hook=lambda m: None)
        km.restart_kernel()
        kc.wait_for_ready(timeout=60)
        self.assertEqual(kc.execute_interactive("before", timeout=20, output_hook=lambda m: None)["content"]["status"], "error")
        kc.stop_channels()
        km.shutdown_kernel()

    def test_curve(self):
        if not hasattr(KernelManager, "transport_encryption"):
            self.skipTest("this jupyter_client has no encryption")
        km = KernelManager(kernel_name=NAME, transport_encryption="required")
        km.start_kernel()
        kc = km.client()
        kc.start_channels()
        kc.wait_for_ready(timeout=60)
        self.assertEqual(kc.execute_interactive("1+1", timeout=20, output_hook=lambda m: None)["content"]["status"], "ok")
        self.assertTrue(kc.hb_channel.is_beating())
        kc.stop_channels()
        km.shutdown_kernel()


class RanksTests(unittest.TestCase):
    """Cells on two ranks: output, interrupts, and no process that outlives the kernel."""

    def setUp(self):
        self.km, self.kc = start_new_kernel(kernel_name=NAME)
        self.addCleanup(self.km.shutdown_kernel, now=True)
        self.addCleanup(self.kc.stop_channels)

    def run_cell(self, code):
        """The cell's output and, if it fails, its error."""
        got = []
        content = self.kc.execute_interactive(code, output_hook=got.append, timeout=60)["content"]
        return "".join(m["content"]["text"] for m in got if m["msg_type"] == "stream"), content.get("evalue")

    def helper(self):
        """The process of rank 1 of new ranks."""
        self.run_cell("%device cpu")
        self.assertEqual(self.run_cell("%ranks 2")[1], None)
        text, _ = self.run_cell("%%rank 1\nfmt.Println(os.Getpid())")
        return int(text.removeprefix("rank 1: "))

    def ends(self, process):
        for _ in range(250):
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
        self.fail("rank 1 outlives its kernel")

    def test_cells(self):
        self.helper()
        self.assertEqual(self.run_cell("rank := ranks.Here().Rank()\nfmt.Println(`I am`, rank)"), ("I am 0\nrank 1: I am 1\n", None))
        self.assertEqual(self.run_cell("if rank == 1 {\n\tpanic(`no`)\n}"), ("", "rank 1: In[5]:2:2: panic: no"))
        trains = "train.Run(ctx, m, data.Windows(strings.Repeat(`the cat `, 200), 32, 4), train.Options{Steps: 1_000_000, LR: optim.Constant(1e-2), Accumulate: 2, Ranks: ranks.Here()})"
        self.run_cell("m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Seed: 1})")
        for cell in ("for {\n}", trains, trains):
            msg = self.kc.execute(cell)
            time.sleep(1)
            self.km.interrupt_kernel()
            reply = self.kc.get_shell_msg(timeout=30)
            self.assertEqual((reply["parent_header"]["msg_id"], reply["content"]["evalue"]), (msg, "interrupted"))
            self.assertEqual(self.run_cell("fmt.Println(tensor.DefaultRNG().State())")[0].count("\n"), 1)  # the ranks' are the same

    def test_restart(self):
        process = self.helper()
        self.kc.execute("for {\n}")
        self.km.restart_kernel()
        self.kc.wait_for_ready(timeout=60)
        self.ends(process)
        process = self.helper()
        self.km.shutdown_kernel()
        self.ends(process)

    def test_killed(self):
        process = self.helper()
        self.km.signal_kernel(9)
        self.ends(process)


class Notebooks(unittest.TestCase):
    """Examples become notebooks, whose cells a client runs, and pages."""

    examples = []

    def test_examples(self):
        for example in self.examples:
            with self.subTest(example.name), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, example.stem + ".ipynb")
                subprocess.run([sys.argv[1], "convert", str(example), path], check=True, stdout=subprocess.DEVNULL)
                book = nbformat.read(path, as_version=nbformat.NO_CONVERT)
                nbformat.validate(book)
                wrong = [c.id for c in book.cells if any(re.search(r"^In\[\d+\]:\d+:\d+: ", o.get("text", "")) for o in c.get("outputs", []))]
                NotebookClient(book, timeout=900, allow_errors=True, kernel_name=NAME, resources={"metadata": {"path": str(example.parent)}}).execute()
                nbformat.validate(book)
                self.assertEqual([c.id for c in book.cells if any(o.output_type == "error" for o in c.get("outputs", []))], wrong)
                self.assertTrue([o for c in book.cells for o in c.get("outputs", [])], "no cell has shown anything")
                page, _ = nbconvert.HTMLExporter().from_notebook_node(book)
                self.assertIn("</html>", page)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        Notebooks.examples += sorted((pathlib.Path(__file__).parents[2] / "examples").glob("*.mcs" if name == "all" else name))
    subprocess.run([sys.argv[1], "jupyter", "install", "--prefix", DATA.name, "--name", NAME], check=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
