package lower

import (
	"go/ast"
	"go/token"
	"go/types"
)

// guarded returns the function that replaces a method of a compiled type that would end the process. It
// takes the receiver and the arguments. The tables of package stdlib have it.
func guarded(m *types.Func) (name string, ok bool) {
	if m.Pkg() == nil {
		return "", false
	}
	switch m.Pkg().Path() {
	case "log", "flag":
		return ending(m)
	case "sync", "net", "net/http", "io", "os/exec", "strings", "bytes", "math/big":
		name, ok = waiting[m.FullName()]
	}
	return name, ok
}

// waiting maps methods that a cell may wait in for long, or that end the process where they should panic,
// to their names in package session.
var waiting = map[string]string{
	"(*sync.Mutex).Lock": "Mutex_Lock", "(*sync.Mutex).Unlock": "Mutex_Unlock", "(*sync.RWMutex).Lock": "RWMutex_Lock",
	"(*sync.RWMutex).Unlock": "RWMutex_Unlock", "(*sync.RWMutex).RLock": "RWMutex_RLock", "(*sync.RWMutex).RUnlock": "RWMutex_RUnlock",
	"(*sync.WaitGroup).Wait": "WaitGroup_Wait", "(*sync.Cond).Wait": "Cond_Wait",
	"(net.Listener).Accept": "Listener_Accept", "(*net.TCPListener).Accept": "TCPListener_Accept",
	"(net.Conn).Read": "Conn_Read", "(*net.TCPConn).Read": "TCPConn_Read", "(*net.UDPConn).Read": "UDPConn_Read",
	"(*net/http.Client).Do": "Client_Do", "(*net/http.Client).Get": "Client_Get", "(*net/http.Client).Head": "Client_Head", "(*net/http.Client).Post": "Client_Post",
	"(*net/http.Client).PostForm": "Client_PostForm", "(*net/http.Client).CloseIdleConnections": "Client_CloseIdleConnections",
	"(*net/http.Server).ListenAndServe": "Server_ListenAndServe", "(*net/http.Server).ListenAndServeTLS": "Server_ListenAndServeTLS",
	"(*net/http.Server).Serve": "Server_Serve", "(*net/http.Server).ServeTLS": "Server_ServeTLS",
	"(*strings.Builder).Grow": "Builder_Grow", "(*bytes.Buffer).Grow": "Buffer_Grow", "(*math/big.Int).Lsh": "Int_Lsh",
	"(*io.PipeReader).Read": "PipeReader_Read", "(*io.PipeWriter).Write": "PipeWriter_Write",
	"(*os/exec.Cmd).Start": "Cmd_Start", "(*os/exec.Cmd).Run": "Cmd_Run", "(*os/exec.Cmd).Wait": "Cmd_Wait", "(*os/exec.Cmd).Output": "Cmd_Output", "(*os/exec.Cmd).CombinedOutput": "Cmd_CombinedOutput",
}

// ending is guarded for methods that end the process.
func ending(m *types.Func) (name string, ok bool) {
	switch m.FullName() {
	case "(*log.Logger).Fatal", "(*log.Logger).Fatalf", "(*log.Logger).Fatalln":
		return "Logger_" + m.Name(), true
	case "(*flag.FlagSet).Parse":
		return "FlagSet_Parse", true
	}
	return "", false
}

// refuseEnd refuses a conversion to an interface through which a guarded method could be called.
func (l *Lowerer) refuseEnd(pos token.Pos, from, to types.Type) {
	if from == nil || to == nil || !hasMethods(to) {
		return
	}
	if types.IsInterface(from) {
		return
	}
	for m := range to.Underlying().(*types.Interface).Methods() {
		o, _, _ := types.LookupFieldOrMethod(from, true, m.Pkg(), m.Name())
		f, ok := o.(*types.Func)
		if !ok {
			continue
		}
		if _, ok := ending(f); ok {
			l.refuse(pos, "%s would end the process: it cannot be called through an interface in cells", f.FullName())
		}
	}
}

// callbacks maps functions that call one of their arguments in another goroutine to the index of that
// argument: a panic there would end the process.
var callbacks = map[string]int{
	"time.AfterFunc": 1, "context.AfterFunc": 1, "(*sync.WaitGroup).Go": 0, "(*testing.B).RunParallel": 0, "runtime.SetFinalizer": 1,
	"(*net/http.Server).RegisterOnShutdown": 0, "net/http.HandleFunc": 1, "(*net/http.ServeMux).HandleFunc": 1,
}

// contained writes a call whose i-th argument is called in another goroutine: a panic in it is reported
// like that of a cell's goroutine.
func (l *Lowerer) contained(e *ast.CallExpr, i int) ast.Expr {
	sig := l.typeOf(e.Fun).Underlying().(*types.Signature)
	f, ok := l.typeOf(e.Args[i]).Underlying().(*types.Signature)
	args, _ := l.argumentsAs(e, sig, func(k int, x ast.Expr) ast.Expr {
		if k == i && ok && f.Results().Len() == 0 {
			return l.contain(e, x, f)
		}
		return x
	})
	return &ast.CallExpr{Fun: l.callee(e.Fun), Lparen: e.Lparen, Args: args, Rparen: e.Rparen}
}

// contain writes the function f so that a panic in it is reported and does not end the process.
func (l *Lowerer) contain(e ast.Expr, f ast.Expr, sig *types.Signature) ast.Expr {
	l.pos = e.Pos()
	mark := l.int(l.env.Mark(Mark{Pos: e.Pos(), End: e.End(), Func: l.fn.name}))
	if sig.Params().Len() == 0 {
		return l.rt("Contain", mark, f)
	}
	fn, container := l.bind(f, sig, l.pos).Name, "Contain"
	if sig.Params().Len() == 2 { // an HTTP handler
		container = "ContainHandler"
	}
	return l.passing(sig, func(args []ast.Expr) *ast.CallExpr {
		return l.call(l.rt(container, mark, l.lit(nil, l.do(l.call(l.id(fn), args...)))))
	})
}
