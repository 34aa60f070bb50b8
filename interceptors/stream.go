package interceptors

import (
	"context"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"

	"github.com/llmd-dev/llmd/internal/stack"
)

// calls is the chain around calls: its steps in one function. A stream may wait for an hour,
// on a stack that holds the frames of all that called it. As interceptors of their own, with
// what grpc-go and the middleware put between them, the steps took 1 KiB of it, and it was
// 8 KiB in place of 4.
type calls struct {
	report  interceptors.CommonReportableFunc
	recover recovery.RecoveryHandlerFuncContext
	gate    *Gate // nil = all are let in
}

// intercept implements [grpc.StreamServerInterceptor].
func (s *calls) intercept(srv any, inner grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	c := &call{ServerStream: inner, chain: s, began: time.Now()}
	c.reporter, c.ctx = s.report(inner.Context(), interceptors.NewServerCallMeta(info.FullMethod, info, nil))
	defer c.end(&err)
	if no := c.enter(info.FullMethod); no != nil {
		return no
	}
	return next(srv, c)
}

// call is one whose caller is known and whose request counts.
type call struct {
	grpc.ServerStream
	chain    *calls
	ctx      context.Context //nolint:containedctx // it stands for the stream's own
	reporter interceptors.Reporter
	began    time.Time

	leave   func() // nil = it is not in
	counted bool   // its requests count
	held    int    // bytes of the latest
}

// enter passes the gate.
func (c *call) enter(method string) error {
	gate := c.chain.gate
	if gate == nil {
		return nil
	}
	inside, leave, no := gate.enter(c.ctx, method)
	if no != nil {
		return gate.refuse(c.ctx, no)
	}
	c.ctx, c.leave, c.counted = inside, leave, !open(method)
	return nil
}

// end makes of a panic what the caller gets, lets the call out, and reports it. It is
// deferred.
func (c *call) end(err *error) { //nolint:gocritic // the result of the call it is deferred in
	p := recover()
	stack.Grow() // what is left goes deep
	if c.leave != nil {
		c.leave()
		c.chain.gate.load.release(c.held)
	}
	if p != nil {
		*err = c.chain.recover(c.ctx, p)
	}
	c.reporter.PostCall(*err, time.Since(c.began))
}

// Context implements grpc.ServerStream.
func (c *call) Context() context.Context { return c.ctx }

// RecvMsg counts the latest request. It is received aside: parsing goes deep.
func (c *call) RecvMsg(m any) (err error) {
	n := 0
	stack.Aside(func() {
		if err = c.ServerStream.RecvMsg(m); err == nil && c.counted {
			n = size(m)
		}
	})
	if err != nil || !c.counted {
		return err
	}
	load := &c.chain.gate.load
	load.release(c.held)
	c.held = 0
	if no := load.hold(n); no != nil {
		return c.chain.gate.refuse(c.ctx, no)
	}
	c.held = n
	return nil
}
