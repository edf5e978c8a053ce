package train

import (
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// finishEpoch writes the events of the steps that are left of an epoch of which the sampler has
// drawn all samples at once, where this process has not drawn them: nothing of them is released, and
// the next step begins a new epoch. An epoch costs the same however many of its steps are made, so
// nothing is paid twice. Without these events the steps before and behind the gap would count as one
// epoch, although a record may be in two of them.
func (r *Run) finishEpoch() error {
	sampler, ok := r.plan.Sampler.(release.InEpochs)
	if !ok {
		return nil
	}
	turns, event := r.Books.Ledger().Turns()
	made := turns % sampler.Epoch()
	if made == 0 {
		return nil
	}
	return r.Books.AppendAll(r.Step, event, sampler.Epoch()-made)
}

// wholeEpochs refuses noise that changes within an epoch: the bound for its steps is for one law.
func wholeEpochs(sampler release.Sampler, noise release.NoiseSchedule) error {
	_, epochs := sampler.(release.InEpochs)
	if _, constant := noise.(*release.ConstantNoise); epochs && !constant {
		return setup.Misfit("privacy.noise_schedule", "changes from step to step, expected constant noise with training.sampling balls_in_bins")
	}
	return nil
}
