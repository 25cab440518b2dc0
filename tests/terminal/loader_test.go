package terminal

import "testing"

// A function of a cell that does not end keeps a goroutine of a loader: Ctrl-C stops both, the steps are
// kept, and the run goes on with a function that ends.
func TestInterruptLoader(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send(pasteStart + `endless := true
source := data.Ahead(data.Map(data.Pairs(tensor.Ones(8, 1), tensor.Ones(8, 1), 2), func(b data.Batch, n int) data.Batch {
	if endless && n == 5 {
		fmt.Println("batch five")
	}
	for endless && n > 4 {
	}
	return b
}), 2)
m := train.WithLoss(nn.NewLinear(1, 1), nn.MSELoss)
o := train.Options{Steps: 9, LR: optim.Constant(0.1)}
run := train.Run(ctx, m, source, o)` + pasteEnd + "\r")
	p.See("\nbatch five")
	p.Send(ctrlC)
	p.See("steps kept; run it again to go on")
	p.See("In [2]:")
	p.Send("endless = false; run = train.Run(ctx, m, source, o); run.Steps()\r")
	p.See("Out[2]: 9")
	leave(t, p)
}
