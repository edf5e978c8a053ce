package run

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpsgd/checkpoints"
)

// kept is a job that has nothing but a checkpoint.
type kept struct{ Job }

func (kept) State() *checkpoints.State {
	return &checkpoints.State{Parameters: []float32{1}, Unreleased: true}
}

// An error that ends a run while a checkpoint is on its way waits for it, and says that it is saved.
func TestErrorWaitsForTheCheckpoint(t *testing.T) {
	save := SaveState
	release := make(chan struct{})
	SaveState = func(dir string, s *checkpoints.State) (string, error) {
		<-release
		return save(dir, s)
	}
	defer func() { SaveState = save }()
	r := &Run{Dir: t.TempDir(), Step: 3, Began: time.Now(), Order: NewOrder(nil), job: kept{}, ctx: context.Background()}
	must(0, r.beginSave())
	close(release)
	err := r.rescue(fmt.Errorf("metrics: %w", syscall.ENOSPC))
	if r.Order.Pending() || r.saved != 3 || !strings.Contains(err.Error(), "step 3 is saved") {
		t.Errorf("found %v, expected that step 3 is saved", err)
	}
}
