package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
)

// HashOf returns the SHA-256 of a run's identity, as checkpoints hold it. It covers public values
// only: a hash of the training data would let anyone who guesses the data check the guess.
func HashOf(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:])
}

// restore checks the newest checkpoint against the ledger, and has the job load it.
func (r *Run) restore() error {
	state, path, err := r.latest()
	if err != nil {
		return err
	}
	if state != nil && r.Books != nil {
		if err := r.Books.Check(state.Claim()); err != nil {
			return err
		}
	}
	if err := r.job.Restore(state, path); err != nil {
		return err
	}
	r.begun = state != nil
	if r.Books != nil {
		r.Registered, err = books.Registration(r.Config, r.Source.Outline, r.Books.Registry, r.Dir)
	}
	return err
}

// latest returns the newest checkpoint and its path; nil for a run that has none and has released
// nothing. For a job that saves its steps itself it returns nil, and checks the folder's identity.
func (r *Run) latest() (*checkpoints.State, string, error) {
	if r.job.State() == nil {
		return nil, "", r.unchanged()
	}
	state, path, err := checkpoints.Latest(r.Path(folder.Checkpoints))
	switch {
	case errors.Is(err, checkpoints.ErrSkipped):
		r.Warn(err.Error())
	case errors.Is(err, checkpoints.ErrNoCheckpoint) && (r.Books == nil || r.Books.Len() == 0):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	return state, path, nil
}

// unchanged refuses a folder that keeps another identity than the job's.
func (r *Run) unchanged() error {
	if r.identity == "" {
		return nil
	}
	kept, err := disk.ReadFile(r.Path(folder.Plan))
	switch {
	case err != nil:
		return folder.Without(r.Dir, folder.Plan)
	case string(kept) != r.identity:
		return r.differs(r.Path(folder.Plan), string(kept))
	}
	return nil
}

// OtherPlan returns the error for a checkpoint of the plan with this hash, which is not the run's.
// It names what differs if the folder keeps the identity with that hash; folders of earlier
// versions keep none.
func (r *Run) OtherPlan(checkpoint, hash string) error {
	kept, err := disk.ReadFile(r.Path(folder.Plan))
	if err != nil || HashOf(string(kept)) != hash || string(kept) == r.identity {
		return fmt.Errorf("%w: %s was made with another configuration or other data or other initial weights than %s and what is found now", books.ErrOtherPlan, checkpoint, r.Path(folder.Config))
	}
	return r.differs(checkpoint, string(kept))
}

func (r *Run) differs(file, kept string) error {
	return fmt.Errorf("%w: %s was made with %s; expected %s and the data as they were", books.ErrOtherPlan, file,
		strings.Join(folder.Differences(kept, r.identity), ", "), r.Path(folder.Config))
}

// keepIdentity writes the job's identity into the folder, unless it is "" or the folder has it.
func (r *Run) keepIdentity() error {
	if r.identity == "" {
		return nil
	}
	return folder.Replace(r.Path(folder.Plan), []byte(r.identity))
}
