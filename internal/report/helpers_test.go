package report_test

import (
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/report"
	"dpsgd/internal/run"
)

// evaluated is a run that was evaluated so often.
func evaluated(name string, evaluations int) *report.Run {
	r := &report.Run{Name: name, Config: &configs.Config{Privacy: configs.Privacy{Accountant: "exact"}}}
	for i := range evaluations {
		r.Metrics = append(r.Metrics, run.Metrics{Step: 10 * (i + 1), Answer: account.Answer{Epsilon: 0.5 * float64(i+1)}, TestAccuracy: 0.6})
	}
	return r
}
