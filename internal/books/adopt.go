package books

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// adopt registers in d, the shared ledger of dir, the runs below dir that d does not know, such as
// those of the first version, and what known runs released after d was copied, if d is an older
// copy. It leaves the runs that write a ledger apart to [Collect].
func (f folders) adopt(dir string, d *checkpoints.Datasets) error {
	shared := Known{DatasetsInfo: d.Info(), dir: dir}
	apart, err := readApart(dir)
	if err != nil {
		return err
	}
	if err := f.refuseRegistered(dir, shared.ID); err != nil {
		return err
	}
	if err := f.refuseOlder(dir, d); err != nil {
		return err
	}
	for _, run := range f.runs {
		path := filepath.Join(run, folder.Ledger)
		header, err := checkpoints.ReadHeader(path)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if _, known := apart.Member(header.Run); known {
			continue // in this folder, or in another one of which this is a copy
		}
		if begun, err := isApart(dir, run, header.Run); err != nil {
			return err
		} else if begun {
			continue
		}
		if m, known := shared.Member(header.Run); known {
			if err := shared.catchUp(d, m, run); err != nil {
				return err
			}
			continue
		}
		if err := shared.adoptRun(d, run, path); err != nil {
			return err
		}
	}
	return nil
}

// adoptRun registers in d the run whose ledger lies at path. It leaves alone a run that was refused
// and is being taken away, and one that is under way or has released nothing, which registers before
// its next release and knows its data then; but also of those no limit may be lost.
func (k Known) adoptRun(d *checkpoints.Datasets, run, path string) error {
	j, unopened := checkpoints.OpenJournal(path)
	if unopened == nil {
		defer j.Close()
	} else if errors.Is(unopened, checkpoints.ErrMoved) || absent(unopened) {
		return nil
	}
	later := errors.Is(unopened, checkpoints.ErrLocked) || unopened == nil && j.Len() == 0
	r, err := adopted(k.dir, run)
	if err != nil && later {
		return nil
	}
	if err == nil {
		err = k.keepsLimit(run, r.Data.Subject())
	}
	if err != nil {
		return fmt.Errorf("%s cannot be registered in %s: %w", run, k.path(), err)
	}
	if later {
		return nil
	}
	if unopened != nil {
		return d.Adopt(path, r) // of a ledger that this user cannot write
	}
	return registerDurably(d, j, r)
}

// registerDurably registers in d the run of a journal as it is on the disk from then on. A last
// line that a killed process did not sync would be lost with the power, and d would know more.
func registerDurably(d *checkpoints.Datasets, j *checkpoints.Journal, r checkpoints.Registration) error {
	if err := j.Recover(); err != nil {
		return err
	}
	return d.Register(j, r)
}

// catchUp registers in d the releases of the known run m that only the run's own ledger has: after
// a power loss, or if d is an older copy. It skips a run that is under way, which catches up
// itself, and one whose own ledger is damaged or older than what d knows.
func (k Known) catchUp(d *checkpoints.Datasets, m checkpoints.Member, run string) error {
	path := filepath.Join(run, folder.Ledger)
	if last, err := checkpoints.LastHash(path); err != nil || last == m.Hash {
		return err
	}
	j, err := checkpoints.OpenJournal(path)
	if errors.Is(err, checkpoints.ErrLocked) || errors.Is(err, checkpoints.ErrCorrupt) {
		return nil // what is damaged is told about when somebody asks for that run; this ledger knows its releases
	}
	if err != nil {
		return err
	}
	defer j.Close()
	if err := k.keepsLimit(run, m.Data.Subject()); err != nil {
		return err
	}
	if j.Check(m.Claim(folder.Datasets)) != nil || j.Len() <= m.Entries {
		return nil // the same holds for a run that was put back to an older copy
	}
	return registerDurably(d, j, m.Registration)
}

// keepsLimit refuses a run, with readable configuration, whose data s have lost their limit
// ([refuseLostLimit]). It is asked when the ledger of the data lacks releases of that run.
func (k Known) keepsLimit(run string, s checkpoints.Subject) error {
	c, err := folder.ReadConfig(run)
	if err != nil {
		return nil // whoever needs that run tells
	}
	return k.refuseLostLimit(run, c, s)
}

// adopted returns the registration for a run in that folder: its ledger apart's, or else a new one.
func adopted(registry, run string) (r checkpoints.Registration, err error) {
	c, err := folder.ReadConfig(run)
	if err != nil {
		return r, err
	}
	l, info, err := checkpoints.ReadJournal(filepath.Join(run, folder.Ledger))
	if err != nil {
		return r, err
	}
	path, err := pathFrom(registry, run)
	if err != nil {
		return r, err
	}
	if m, ok, err := memberApart(registry, run, info.Run); ok || err != nil {
		return m.Registration, err // begun since the ledgers apart were read
	}
	return checkpoints.Registration{Path: path, Data: configuredData(c, run, l), Delta: c.Privacy.Delta, Accountant: c.Privacy.Accountant, Planned: plannedIn(run, l)}, nil
}

// configuredData describes the data of a run by its statement, or else by its configuration c. If
// neither says how many examples there are, it takes the number from the plan or the ledger, or
// counts the data, without decoding pictures. It leaves the unit unknown unless the run's plan
// confirms c.
func configuredData(c *configs.Config, run string, l *accountant.Ledger) checkpoints.Data {
	s, _ := statement.Read(run) // empty where there is none
	o := setup.Declared(c)
	if s.Data != "" {
		o.Name, o.Examples = s.Data, s.Examples
	} else if o.Examples == 0 {
		o.Examples = examplesOf(c, run, l)
	}
	d := dataOf(c, o)
	if s.Shape != "" { // not in statements of the first version
		d.Shape, d.Classes = s.Shape, s.Classes
	}
	if !confirmed(run) {
		d.Unit = checkpoints.Unit{}
	}
	return d
}

// examplesOf returns the number of examples of a run: from its plan, or the sampling probability
// (not for clients and persons), or by counting the data; 0 if none of these gives it.
func examplesOf(c *configs.Config, run string, l *accountant.Ledger) int {
	if n := inPlan(run, "examples %d "); n > 0 {
		return n
	}
	for _, e := range l.Entries() {
		q := accountant.SamplingProbability(e.Event)
		if q > 0 && unitOf(c).Kind != checkpoints.Client && unitOf(c).Kind != checkpoints.Person {
			return int(math.Round(float64(c.Training.BatchSize) / q))
		}
	}
	counted, _ := setup.OutlineOf(c, 0)
	return counted.Examples
}

// confirmed reports whether a run has a plan, made of the configuration that its folder holds.
func confirmed(run string) bool {
	return folder.HoldsAny(run, folder.Plan) && folder.HoldsAny(run, folder.Config) && refuseEdited(run) == nil
}

// withUnit returns d, the data of a run. If d has no unit, as earlier versions registered it, it
// gets the one of the run's configuration, where the run's plan and the name in d confirm that.
// Data that stay without a unit count with every unit.
func withUnit(run string, d checkpoints.Data) checkpoints.Data {
	if d.Unit.Known() || !confirmed(run) {
		return d
	}
	c, err := folder.ReadConfig(run)
	if err != nil {
		return d
	}
	if unitOf(c).Of(setup.Declared(c).Name) == d.Name {
		d.Unit = unitOf(c)
	}
	return d
}
