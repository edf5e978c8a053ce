package run

import (
	"cmp"
	"context"
	"errors"
	"sync"
)

// SideBySide calls work in width goroutines, or in one, and one of them is the caller's. Together
// they take the numbers in todo from next, until none is left. An error of one ends the context of
// all. SideBySide returns an error other than that of the context, if there is one.
func SideBySide(ctx context.Context, width int, todo []int, work func(ctx context.Context, next <-chan int) error) error {
	if len(todo) == 0 {
		return nil
	}
	next := make(chan int, len(todo))
	for _, i := range todo {
		next <- i
	}
	close(next)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, max(1, width))
	one := func(k int) {
		if errs[k] = work(ctx, next); errs[k] != nil {
			stop()
		}
	}
	var others sync.WaitGroup
	for k := range errs[1:] {
		others.Go(func() { one(k + 1) })
	}
	one(0)
	others.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, ctx.Err()) {
			return err
		}
	}
	return cmp.Or(errs...)
}
