//go:build mpi && !linux

package mpi

import (
	"runtime"
	"time"
)

func yield() { runtime.Gosched() }

func sleep(d time.Duration) { time.Sleep(d) }
